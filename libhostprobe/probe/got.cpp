// got.cpp: see got.h. Cold: runs in the constructor, in dlsym and pthread_create calls and in the writer thread when
// objects were loaded since. A slot is patched only when it holds, or would be bound to, the driver's own function: a
// program may have functions and variables of the same names.
#include "got.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "driver_routes.h"
#include "lifecycle.h"
#include "resolve.h"

extern "C" __attribute__((visibility("hidden"))) void* hp_dlsym(void*, const char*);

namespace hostprobe::probe {
namespace {

std::atomic<unsigned long long> g_scanned_adds{0}, g_scanned_subs{0};
std::atomic<unsigned> g_known_drivers{0};
std::atomic_flag g_scanning = ATOMIC_FLAG_INIT;

// The parts of an object's dynamic section that say which of its slots belong to which symbol.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * plt = nullptr;
  std::size_t plt_count = 0;
  const ElfW(Rela) * data = nullptr;
  std::size_t data_count = 0;
  std::size_t relative_count = 0;
  const std::uint32_t* gnu_hash = nullptr;
};

template <class T>
const T* pointer_in(ElfW(Addr) base, ElfW(Addr) value) {
  // glibc relocates these entries of loaded objects, except in read-only dynamic sections (the vdso).
  return reinterpret_cast<const T*>(value >= base ? value : base + value);
}

bool read_dynamic(const dl_phdr_info& object, Dynamic& d) {
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i)
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  if (entry == nullptr) return false;
  ElfW(Addr) base = object.dlpi_addr;
  for (; entry->d_tag != DT_NULL; ++entry) {
    ElfW(Addr) value = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB: d.symbols = pointer_in<ElfW(Sym)>(base, value); break;
      case DT_STRTAB: d.strings = pointer_in<char>(base, value); break;
      case DT_JMPREL: d.plt = pointer_in<ElfW(Rela)>(base, value); break;
      case DT_PLTRELSZ: d.plt_count = value / sizeof(ElfW(Rela)); break;
      case DT_RELA: d.data = pointer_in<ElfW(Rela)>(base, value); break;
      case DT_RELASZ: d.data_count = value / sizeof(ElfW(Rela)); break;
      case DT_RELACOUNT: d.relative_count = value; break;
      case DT_GNU_HASH: d.gnu_hash = pointer_in<std::uint32_t>(base, value); break;
      default: break;
    }
  }
  return d.symbols != nullptr && d.strings != nullptr;
}

bool wanted(const char* name) { return strcmp(name, "dlsym") == 0 || is_driver_name(name); }

// Undefined symbols come before the hashed ones, so most objects are done after a look at a few names, without touching
// their (possibly huge) relocations.
bool asks_for_us(const Dynamic& d) {
  if (d.gnu_hash == nullptr) return true;
  std::uint32_t first_defined = d.gnu_hash[1];
  for (std::uint32_t i = 1; i < first_defined; ++i)
    if (d.symbols[i].st_shndx == SHN_UNDEF && wanted(d.strings + d.symbols[i].st_name)) return true;
  return false;
}

std::uintptr_t object_end(const dl_phdr_info& object) {
  std::uintptr_t end = 0;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& p = object.dlpi_phdr[i];
    if (p.p_type == PT_LOAD && object.dlpi_addr + p.p_vaddr + p.p_memsz > end)
      end = object.dlpi_addr + p.p_vaddr + p.p_memsz;
  }
  return end;
}

std::uintptr_t object_begin(const dl_phdr_info& object) {
  std::uintptr_t begin = ~std::uintptr_t{0};
  for (int i = 0; i < object.dlpi_phnum; ++i)
    if (object.dlpi_phdr[i].p_type == PT_LOAD && object.dlpi_addr + object.dlpi_phdr[i].p_vaddr < begin)
      begin = object.dlpi_addr + object.dlpi_phdr[i].p_vaddr;
  return begin;
}

bool in_object(const dl_phdr_info& object, const void* address) {
  auto a = reinterpret_cast<std::uintptr_t>(address);
  return a >= object_begin(object) && a < object_end(object);
}

// RELRO pages are writable for the moment of one store.
void store_slot(const dl_phdr_info& object, void** slot, void* value) {
  auto address = reinterpret_cast<std::uintptr_t>(slot);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& p = object.dlpi_phdr[i];
    if (p.p_type != PT_GNU_RELRO) continue;
    std::uintptr_t begin = (object.dlpi_addr + p.p_vaddr) & ~std::uintptr_t{4095};
    std::uintptr_t end = (object.dlpi_addr + p.p_vaddr + p.p_memsz) & ~std::uintptr_t{4095};
    if (address < begin || address >= end) continue;
    void* page = reinterpret_cast<void*>(address & ~std::uintptr_t{4095});
    if (mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0) return;
    std::atomic_ref(*slot).store(value, std::memory_order_release);
    mprotect(page, 4096, PROT_READ);
    return;
  }
  std::atomic_ref(*slot).store(value, std::memory_order_release);
}

// What the global scope means by each name, asked before the walk: a lookup takes the loader's lock, and the walk holds
// another one that dlopen takes second.
constexpr unsigned kMostNames = 64;
struct GlobalNames {
  void* first_dlsym;
  const char* names[kMostNames];
  void* functions[kMostNames];
  unsigned count;
};
GlobalNames g_global;

void look_up_global_names() {
  g_global.first_dlsym = real_dlsym(RTLD_DEFAULT, "dlsym");
  g_global.count = 0;
  if (g_known_drivers.load(std::memory_order_relaxed) == 0) return;  // a failed lookup makes libc allocate
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state && g_global.count < kMostNames; ++hook)
    if (hook->wrappers != nullptr) {
      g_global.names[g_global.count] = hook->row->name;
      g_global.functions[g_global.count++] = global_driver_function(hook->row->name);
    }
}

// The function a slot stands for: what it holds or, still unbound (pointing into its own object), what it would get.
void* bound_to(const dl_phdr_info& object, void* held, const char* name) {
  if (!in_object(object, held)) return held;
  for (unsigned i = 0; i < g_global.count; ++i)
    if (strcmp(g_global.names[i], name) == 0) return g_global.functions[i];
  return nullptr;
}

// A dlsym slot may be bound to libc past us (RTLD_DEEPBIND), or not be bound yet: then it gets whoever is first in the
// global scope, as if it had been bound there.
void patch_dlsym_slot(const dl_phdr_info& object, void** slot) {
  void* held = *slot;
  if (held == reinterpret_cast<void*>(hp_real_dlsym))
    store_slot(object, slot, reinterpret_cast<void*>(&hp_dlsym));
  else if (in_object(object, held) && g_global.first_dlsym != nullptr)
    store_slot(object, slot, g_global.first_dlsym);
}

void patch_slot(const dl_phdr_info& object, void** slot, const char* name) {
  if (strcmp(name, "dlsym") == 0) return patch_dlsym_slot(object, slot);
  void* held = *slot;
  void* real = bound_to(object, held, name);
  if (real == nullptr || !is_driver_address(real)) return;
  void* wrapper = wrapper_for(name, real);
  if (wrapper != nullptr && wrapper != held) store_slot(object, slot, wrapper);
}

void patch_relocations(const dl_phdr_info& object, const Dynamic& d, const ElfW(Rela) * table, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto type = ELF64_R_TYPE(table[i].r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
    const ElfW(Sym)& symbol = d.symbols[ELF64_R_SYM(table[i].r_info)];
    if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
    const char* name = d.strings + symbol.st_name;
    if (wanted(name)) patch_slot(object, reinterpret_cast<void**>(object.dlpi_addr + table[i].r_offset), name);
  }
}

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// Objects whose slots have been looked at, by their first address. A full table only means looking again.
constexpr unsigned kSeen = 2048;
std::atomic<std::uintptr_t> g_seen[kSeen];

bool seen_before(std::uintptr_t begin) {
  for (unsigned i = 0; i < 16; ++i) {
    auto& slot = g_seen[((begin >> 12) * 0x9e3779b97f4a7c15u >> 40) % kSeen ^ i];
    std::uintptr_t expected = 0;
    if (slot.compare_exchange_strong(expected, begin, std::memory_order_relaxed)) return false;
    if (expected == begin) return true;
  }
  return false;
}

constexpr unsigned kMostDrivers = 4;
struct FoundDriver {
  char path[512];
  std::uintptr_t begin, end;
};
struct Scan {
  unsigned long long adds, subs;
  unsigned drivers;
  FoundDriver found[kMostDrivers];
};

int find_drivers(dl_phdr_info* object, size_t, void* argument) {
  auto* scan = static_cast<Scan*>(argument);
  scan->adds = object->dlpi_adds;
  scan->subs = object->dlpi_subs;
  if (object->dlpi_name == nullptr || !is_driver_library(*object) || scan->drivers == kMostDrivers) return 0;
  FoundDriver& driver = scan->found[scan->drivers++];
  strncpy(driver.path, object->dlpi_name, sizeof driver.path - 1);
  driver.begin = object_begin(*object);
  driver.end = object_end(*object);
  return 0;
}

int patch_new(dl_phdr_info* object, size_t, void*) {
  if (!seen_before(object_begin(*object))) patch_object(*object);
  return 0;
}

int read_changes(dl_phdr_info* object, size_t, void* argument) {
  auto* scan = static_cast<Scan*>(argument);
  scan->adds = object->dlpi_adds;
  scan->subs = object->dlpi_subs;
  return 1;
}

void forget_seen() {
  for (auto& slot : g_seen) slot.store(0, std::memory_order_relaxed);
}

}  // namespace

bool is_driver_library(const dl_phdr_info& object) {
  return strncmp(base_name(object.dlpi_name), "libcuda.so", 10) == 0;
}

void patch_object(const dl_phdr_info& object) {
  if (is_own_address(object.dlpi_phdr) || (object.dlpi_name != nullptr && is_driver_library(object))) return;
  Dynamic d;
  if (!read_dynamic(object, d) || !asks_for_us(d)) return;
  patch_relocations(object, d, d.plt, d.plt_count);
  std::size_t skip = d.relative_count < d.data_count ? d.relative_count : 0;
  if (d.data != nullptr) patch_relocations(object, d, d.data + skip, d.data_count - skip);
}

void scan_new_objects() {
  Scan scan{};
  dl_iterate_phdr(read_changes, &scan);
  if (scan.adds == g_scanned_adds.load(std::memory_order_acquire)) return;
  if (g_scanning.test_and_set(std::memory_order_acquire)) return;
  dl_iterate_phdr(find_drivers, &scan);
  for (unsigned i = 0; i < scan.drivers; ++i) learn_driver(scan.found[i].path, scan.found[i].begin, scan.found[i].end);
  // Objects linked to a driver that came after them, or new ones at the address of an unloaded one: look again.
  if (scan.drivers != g_known_drivers.exchange(scan.drivers, std::memory_order_relaxed) ||
      scan.subs != g_scanned_subs.exchange(scan.subs, std::memory_order_relaxed))
    forget_seen();
  look_up_global_names();
  dl_iterate_phdr(patch_new, nullptr);
  g_scanned_adds.store(scan.adds, std::memory_order_release);
  g_scanning.clear(std::memory_order_release);
}

}  // namespace hostprobe::probe
