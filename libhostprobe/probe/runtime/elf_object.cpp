// elf_object.cpp: see elf_object.h. Reads mapped memory only, and calls nothing of libc: it runs before our calls of libc
// are known to end there (sanitizer.h).
#include "probe/runtime/elf_object.h"

#include "probe/runtime/at_start.h"

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
    case DT_VERSYM:
      object.version_of = pointer_in<ElfW(Half)>(bias, value);
      break;
    case DT_VERDEF:
      object.versions = pointer_in<ElfW(Verdef)>(bias, value);
      break;
    case DT_VERNEED:
      object.needed_versions = pointer_in<ElfW(Verneed)>(bias, value);
      break;
    default:
      break;
  }
}

bool is_function(const ElfObject& object, const ElfW(Sym) & symbol, const char* name) {
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE) &&
         same(object.strings + symbol.st_name, name);
}

// The GNU hash table, as its format is published: a bloom filter, which refuses most names at once, and chains.
template <class IsIt>
    const ElfW(Sym) * find_by_gnu_hash(const ElfObject& object, const char* name, IsIt is_it) {
  std::uint32_t hash = 5381;
  for (const char* c = name; *c != 0; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  std::uint32_t bucket_count = object.gnu_hash[0], first = object.gnu_hash[1], bloom_words = object.gnu_hash[2];
  const std::uint32_t* buckets = object.gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chain = buckets + bucket_count;
  auto* bloom = reinterpret_cast<const ElfW(Addr)*>(object.gnu_hash + 4);
  if (bucket_count == 0 || bloom_words == 0) return nullptr;
  const ElfW(Addr) word = bloom[hash / 64 & (bloom_words - 1)];  // as many as a power of two
  if ((word >> hash % 64 & word >> (hash >> object.gnu_hash[3]) % 64 & 1) == 0) return nullptr;
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first) return nullptr;
  for (;; ++index) {
    std::uint32_t link = chain[index - first];
    if ((link | 1) == (hash | 1) && is_it(object.symbols[index])) return &object.symbols[index];
    if (link & 1) return nullptr;
  }
}

template <class IsIt>
    const ElfW(Sym) * find_symbol(const ElfObject& object, const char* name, IsIt is_it) {
  if (object.gnu_hash != nullptr) return find_by_gnu_hash(object, name, is_it);
  for (std::uint32_t i = 1; object.old_hash != nullptr && i < object.old_hash[1]; ++i)
    if (is_it(object.symbols[i])) return &object.symbols[i];
  return nullptr;
}

bool has_version(const ElfObject& object, const ElfW(Sym) & symbol, const char* version) {
  if (object.version_of == nullptr || object.versions == nullptr) return true;
  ElfW(Half) index = object.version_of[&symbol - object.symbols];
  if (version == nullptr) return (index & 0x8000) == 0;
  version = version_here(version);
  index &= 0x7fff;
  for (const ElfW(Verdef)* v = object.versions;;) {
    auto* bytes = reinterpret_cast<const char*>(v);
    if (v->vd_ndx == index) {
      auto* name = reinterpret_cast<const ElfW(Verdaux)*>(bytes + v->vd_aux);
      return same(object.strings + name->vda_name, version);
    }
    if (v->vd_next == 0) return false;
    v = reinterpret_cast<const ElfW(Verdef)*>(bytes + v->vd_next);
  }
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

bool read_symbols(const link_map& map, ElfObject& object) {
  object.bias = map.l_addr;
  if (map.l_ld == nullptr) return false;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) read_entry(*entry, object);
  return object.symbols != nullptr && object.strings != nullptr;
}

void* defined_function(const ElfObject& object, const char* name) {
  const ElfW(Sym)* symbol =
      find_symbol(object, name, [&](const ElfW(Sym) & s) { return is_function(object, s, name); });
  return symbol == nullptr ? nullptr : reinterpret_cast<void*>(object.bias + symbol->st_value);
}

const ElfW(Sym) * object_symbol(const ElfObject& object, const char* name) {
  return find_symbol(object, name, [&](const ElfW(Sym) & s) {
    return s.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s.st_info) == STT_OBJECT && same(object.strings + s.st_name, name);
  });
}

const ElfW(Sym) * versioned_symbol(const ElfObject& object, const char* name, const char* version) {
  return find_symbol(object, name, [&](const ElfW(Sym) & s) {
    unsigned type = ELF64_ST_TYPE(s.st_info);
    return s.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC) &&
           same(object.strings + s.st_name, name) && has_version(object, s, version);
  });
}

}  // namespace hostprobe::probe
