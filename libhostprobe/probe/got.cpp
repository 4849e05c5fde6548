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
#include "elf_object.h"
#include "lifecycle.h"
#include "resolve.h"

extern "C" __attribute__((visibility("hidden"))) void* hp_dlsym(void*, const char*);

namespace hostprobe::probe {
namespace {

std::atomic<unsigned long long> g_scanned_adds{0}, g_scanned_subs{0};
std::atomic<unsigned> g_known_drivers{0};
std::atomic_flag g_scanning = ATOMIC_FLAG_INIT;

bool wanted(const char* name) { return strcmp(name, "dlsym") == 0 || is_driver_name(name); }

// Undefined symbols come before the hashed ones, so most objects are done after a look at a few names, without touching
// their (possibly huge) relocations.
bool asks_for_us(const ElfObject& d) {
  if (d.gnu_hash == nullptr) return true;
  std::uint32_t first_defined = d.gnu_hash[1];
  for (std::uint32_t i = 1; i < first_defined; ++i)
    if (d.symbols[i].st_shndx == SHN_UNDEF && wanted(d.strings + d.symbols[i].st_name)) return true;
  return false;
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
  void* in_driver[kMostNames];
  unsigned count;
};
GlobalNames g_global;

struct Definition {
  const void* address;
  const char* name;
};

int defines_it(dl_phdr_info* info, size_t, void* argument) {
  auto* wanted_one = static_cast<Definition*>(argument);
  ElfObject object;
  return read_elf_object(*info, object) && object.holds(wanted_one->address) &&
         defined_function(object, wanted_one->name) == wanted_one->address;
}

// A program that is not position-independent has the address of its own PLT entry as *the* address of a function it
// takes the address of. That is what lookups find, but nobody defines anything there.
void* global_function(const char* name) {
  void* found = real_dlsym(RTLD_DEFAULT, name);
  Definition definition{found, name};
  if (found == nullptr || is_driver_address(found) || dl_iterate_phdr(defines_it, &definition) != 0) return found;
  return driver_function(name);
}

void add_global_name(const char* name) {
  unsigned i = g_global.count++;
  g_global.names[i] = name;
  g_global.functions[i] = global_function(name);
  g_global.in_driver[i] = driver_function(name);
}

void look_up_global_names() {
  g_global.first_dlsym = real_dlsym(RTLD_DEFAULT, "dlsym");
  g_global.count = 0;
  if (g_known_drivers.load(std::memory_order_relaxed) == 0) return;  // a failed lookup makes libc allocate
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state && g_global.count < kMostNames - 2; ++hook)
    if (hook->wrappers != nullptr) add_global_name(hook->row->name);
  add_global_name("cuGetProcAddress");
  add_global_name("cuGetProcAddress_v2");
}

// The function a slot stands for: what it holds or, still unbound (pointing into its own object), what it would get: the
// global scope's function, else that of the driver it is linked to.
void* bound_to(const dl_phdr_info& object, const ElfObject& d, void* held, const char* name) {
  if (!d.holds(held)) return held;
  for (unsigned i = 0; i < g_global.count; ++i) {
    if (strcmp(g_global.names[i], name) != 0) continue;
    if (g_global.functions[i] != nullptr) return g_global.functions[i];
    return d.needs_driver ? g_global.in_driver[i] : nullptr;
  }
  return nullptr;
}

// A dlsym slot may be bound to libc past us (RTLD_DEEPBIND), or not be bound yet: then it gets whoever is first in the
// global scope, as if it had been bound there.
void patch_dlsym_slot(const dl_phdr_info& object, const ElfObject& d, void** slot) {
  void* held = *slot;
  if (held == reinterpret_cast<void*>(real_dlsym))
    store_slot(object, slot, reinterpret_cast<void*>(&hp_dlsym));
  else if (d.holds(held) && g_global.first_dlsym != nullptr)
    store_slot(object, slot, g_global.first_dlsym);
}

void patch_slot(const dl_phdr_info& object, const ElfObject& d, void** slot, const char* name) {
  if (strcmp(name, "dlsym") == 0) return patch_dlsym_slot(object, d, slot);
  void* held = *slot;
  void* real = bound_to(object, d, held, name);
  if (real == nullptr || !is_driver_address(real)) return;
  void* wrapper = wrapper_for(name, real);
  if (wrapper != nullptr && wrapper != held) store_slot(object, slot, wrapper);
}

void patch_relocations(const dl_phdr_info& object, const ElfObject& d, const ElfW(Rela) * table, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto type = ELF64_R_TYPE(table[i].r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
    const ElfW(Sym)& symbol = d.symbols[ELF64_R_SYM(table[i].r_info)];
    if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
    const char* name = d.strings + symbol.st_name;
    if (wanted(name)) patch_slot(object, d, reinterpret_cast<void**>(object.dlpi_addr + table[i].r_offset), name);
  }
}

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// Objects whose slots have been looked at, by the address of their headers. A full table only means looking again.
constexpr unsigned kSeen = 2048;
std::atomic<std::uintptr_t> g_seen[kSeen];

bool seen_before(std::uintptr_t begin) {
  for (unsigned i = 0; i < 16; ++i) {
    auto& slot = g_seen[((begin >> 6) * 0x9e3779b97f4a7c15u >> 40) % kSeen ^ i];
    std::uintptr_t expected = 0;
    if (slot.compare_exchange_strong(expected, begin, std::memory_order_relaxed)) return false;
    if (expected == begin) return true;
  }
  return false;
}

constexpr unsigned kMostDrivers = 4;
struct Scan {
  unsigned long long adds, subs;
  unsigned drivers;
  ElfObject found[kMostDrivers];
};

int find_drivers(dl_phdr_info* object, size_t, void* argument) {
  auto* scan = static_cast<Scan*>(argument);
  scan->adds = object->dlpi_adds;
  scan->subs = object->dlpi_subs;
  if (object->dlpi_name == nullptr || !is_driver_library(*object) || scan->drivers == kMostDrivers) return 0;
  if (read_elf_object(*object, scan->found[scan->drivers])) ++scan->drivers;
  return 0;
}

int patch_new(dl_phdr_info* object, size_t, void*) {
  if (!seen_before(reinterpret_cast<std::uintptr_t>(object->dlpi_phdr))) patch_object(*object);
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
  ElfObject d;
  if (!read_elf_object(object, d) || !asks_for_us(d)) return;
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
  for (unsigned i = 0; i < scan.drivers; ++i) learn_driver(scan.found[i]);
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
