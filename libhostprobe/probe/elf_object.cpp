// elf_object.cpp: see elf_object.h. Reads mapped memory only.
#include "elf_object.h"

#include <string.h>

namespace hostprobe::probe {
namespace {

template <class T>
const T* pointer_in(std::uintptr_t bias, ElfW(Addr) value) {
  // glibc relocates these entries of loaded objects, except in read-only dynamic sections (the vdso).
  return reinterpret_cast<const T*>(value >= bias ? value : bias + value);
}

void read_extent(const dl_phdr_info& info, ElfObject& object) {
  object.begin = ~std::uintptr_t{0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& p = info.dlpi_phdr[i];
    if (p.p_type != PT_LOAD) continue;
    std::uintptr_t begin = info.dlpi_addr + p.p_vaddr;
    if (begin < object.begin) object.begin = begin;
    if (begin + p.p_memsz > object.end) object.end = begin + p.p_memsz;
  }
}

void read_entry(const ElfW(Dyn) & entry, ElfObject& object) {
  ElfW(Addr) value = entry.d_un.d_ptr;
  std::uintptr_t bias = object.bias;
  switch (entry.d_tag) {
    case DT_SYMTAB:
      object.symbols = pointer_in<ElfW(Sym)>(bias, value);
      break;
    case DT_STRTAB:
      object.strings = pointer_in<char>(bias, value);
      break;
    case DT_JMPREL:
      object.plt = pointer_in<ElfW(Rela)>(bias, value);
      break;
    case DT_PLTRELSZ:
      object.plt_count = value / sizeof(ElfW(Rela));
      break;
    case DT_RELA:
      object.data = pointer_in<ElfW(Rela)>(bias, value);
      break;
    case DT_RELASZ:
      object.data_count = value / sizeof(ElfW(Rela));
      break;
    case DT_RELACOUNT:
      object.relative_count = value;
      break;
    case DT_GNU_HASH:
      object.gnu_hash = pointer_in<std::uint32_t>(bias, value);
      break;
    case DT_HASH:
      object.old_hash = pointer_in<std::uint32_t>(bias, value);
      break;
    default:
      break;
  }
}

bool is_it(const ElfObject& object, const ElfW(Sym) & symbol, const char* name) {
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE) &&
         strcmp(object.strings + symbol.st_name, name) == 0;
}

// The chains of the GNU hash table, as its format is published; the bloom filter is only a shortcut and is skipped.
const ElfW(Sym) * find_by_gnu_hash(const ElfObject& object, const char* name) {
  std::uint32_t hash = 5381;
  for (const char* c = name; *c != 0; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  std::uint32_t bucket_count = object.gnu_hash[0], first = object.gnu_hash[1], bloom_words = object.gnu_hash[2];
  const std::uint32_t* buckets = object.gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chain = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first) return nullptr;
  for (;; ++index) {
    std::uint32_t link = chain[index - first];
    if ((link | 1) == (hash | 1) && is_it(object, object.symbols[index], name)) return &object.symbols[index];
    if (link & 1) return nullptr;
  }
}

const ElfW(Sym) * find_one_by_one(const ElfObject& object, const char* name) {
  for (std::uint32_t i = 1; i < object.old_hash[1]; ++i)
    if (is_it(object, object.symbols[i], name)) return &object.symbols[i];
  return nullptr;
}

}  // namespace

bool read_elf_object(const dl_phdr_info& info, ElfObject& object) {
  const ElfW(Dyn)* first = nullptr;
  object.bias = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      first = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  if (first == nullptr) return false;
  read_extent(info, object);
  for (const ElfW(Dyn)* entry = first; entry->d_tag != DT_NULL; ++entry) read_entry(*entry, object);
  if (object.symbols == nullptr || object.strings == nullptr) return false;
  for (const ElfW(Dyn)* entry = first; entry->d_tag != DT_NULL; ++entry)
    if (Library library; entry->d_tag == DT_NEEDED && is_library_file(object.strings + entry->d_un.d_val, library))
      object.needs[static_cast<unsigned>(library)] = true;
  return true;
}

void* defined_function(const ElfObject& object, const char* name) {
  const ElfW(Sym)* symbol = nullptr;
  if (object.gnu_hash != nullptr)
    symbol = find_by_gnu_hash(object, name);
  else if (object.old_hash != nullptr)
    symbol = find_one_by_one(object, name);
  return symbol == nullptr ? nullptr : reinterpret_cast<void*>(object.bias + symbol->st_value);
}

}  // namespace hostprobe::probe
