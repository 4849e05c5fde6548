// newer_function.cpp: see newer_function.h.
#include "probe/intercept/newer_function.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <atomic>

#include "probe/intercept/resolve.h"
#include "probe/runtime/elf_object.h"
#include "probe/runtime/start_objects.h"

namespace hostprobe::probe {
namespace {

struct Newer {
  const char* name;
  void* real;
  void* wrapper;
};

// Where an object's program headers are: the kernel tells of the program's, libraries begin with their ELF header.
bool headers_of(const link_map& map, dl_phdr_info& info) {
  info.dlpi_addr = map.l_addr;
  if (map.l_prev == nullptr) {
    info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
    info.dlpi_phnum = static_cast<ElfW(Half)>(getauxval(AT_PHNUM));
    return info.dlpi_phdr != nullptr;
  }
  auto* head = reinterpret_cast<const ElfW(Ehdr)*>(map.l_addr);
  if (head == nullptr || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return false;
  info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(map.l_addr + head->e_phoff);
  info.dlpi_phnum = head->e_phnum;
  return true;
}

// Pages that were made read-only after relocation are writable for the moment of one store.
void store_slot(const dl_phdr_info& info, void** slot, void* value) {
  const std::uintptr_t page_size = page_bytes();
  auto address = reinterpret_cast<std::uintptr_t>(slot);
  bool read_only = false;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& p = info.dlpi_phdr[i];
    std::uintptr_t begin = (info.dlpi_addr + p.p_vaddr) & ~(page_size - 1);
    std::uintptr_t end = (info.dlpi_addr + p.p_vaddr + p.p_memsz) & ~(page_size - 1);
    if (p.p_type == PT_GNU_RELRO && address >= begin && address < end) read_only = true;
  }
  void* page = reinterpret_cast<void*>(address & ~(page_size - 1));
  if (read_only && mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return;
  std::atomic_ref(*slot).store(value, std::memory_order_release);
  if (read_only) mprotect(page, page_size, PROT_READ);
}

void patch_table(const dl_phdr_info& info, const ElfObject& object, const ElfW(Rela) * table, std::size_t count,
                 const Newer& newer) {
  for (std::size_t i = 0; table != nullptr && i < count; ++i) {
    auto type = ELF64_R_TYPE(table[i].r_info);
    if (!is_function_slot(type)) continue;
    const ElfW(Sym)& symbol = object.symbols[ELF64_R_SYM(table[i].r_info)];
    if (symbol.st_shndx != SHN_UNDEF || strcmp(object.strings + symbol.st_name, newer.name) != 0) continue;
    auto** slot = reinterpret_cast<void**>(info.dlpi_addr + table[i].r_offset);
    bool unbound = is_call_slot(type) && object.holds(*slot);
    if (*slot == newer.real || unbound) store_slot(info, slot, newer.wrapper);
  }
}

bool names(const ElfObject& object, const ElfW(Rela) * table, std::size_t count, const char* name) {
  for (std::size_t i = 0; table != nullptr && i < count; ++i) {
    const ElfW(Sym)& symbol = object.symbols[ELF64_R_SYM(table[i].r_info)];
    if (symbol.st_shndx == SHN_UNDEF && strcmp(object.strings + symbol.st_name, name) == 0) return true;
  }
  return false;
}

// Few do, and only their headers are looked for: nothing promises that a library begins with them.
bool asks_for(const ElfObject& object, const char* name) {
  return names(object, object.plt, object.plt_count, name) || names(object, object.data, object.data_count, name);
}

void patch_object(const link_map& map, const Newer& newer) {
  ElfObject object;
  dl_phdr_info info{};
  if (!read_symbols(map, object) || !asks_for(object, newer.name)) return;
  if (!headers_of(map, info) || is_own_address(info.dlpi_phdr) || !read_elf_object(info, object)) return;
  std::size_t skip = object.relative_count < object.data_count ? object.relative_count : 0;
  patch_table(info, object, object.plt, object.plt_count, newer);
  if (object.data != nullptr) patch_table(info, object, object.data + skip, object.data_count - skip, newer);
}

// What the objects of the start would be bound to: the first definition in the order of their list.
void* first_definition(const link_map* first, const link_map* last, const char* name, const char* version) {
  for (const link_map* map = first; map != nullptr; map = map == last ? nullptr : map->l_next) {
    ElfObject object;
    if (!read_symbols(*map, object)) continue;
    const ElfW(Sym)* symbol = versioned_symbol(object, name, version);
    if (symbol != nullptr) return reinterpret_cast<void*>(object.bias + symbol->st_value);
  }
  return nullptr;
}

}  // namespace

void stand_in_front_of(const char* name, const char* version, Hook& hook, void* wrapper) {
  const link_map* last = nullptr;
  const link_map* first = start_objects(last);
  if (first == nullptr || hook.target[0] != nullptr) return;
  void* real = first_definition(first, last, name, version);
  if (real == nullptr) return;
  hook.target[0] = real;
  const Newer newer{name, real, wrapper};
  for (const link_map* map = first; map != nullptr; map = map == last ? nullptr : map->l_next)
    patch_object(*map, newer);
}

}  // namespace hostprobe::probe
