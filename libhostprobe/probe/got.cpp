// got.cpp: patching the slots through which loaded objects call the driver, NCCL and dlsym.
//
// Room 2 (probe/). Reaches what symbol lookup cannot: objects linked to these libraries, whose calls we do not take by
// exporting the names, and objects opened RTLD_DEEPBIND, which never see a preload's dlsym. Cold: runs in the constructor,
// in dlsym and pthread_create calls and in the writer thread when objects were loaded since. A slot is patched only when
// it holds, or would be bound to, the library's own function: a program may have functions and variables of these names.
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "elf_object.h"
#include "lifecycle.h"
#include "resolve.h"
#include "routes.h"

extern "C" __attribute__((visibility("hidden"))) void* hp_dlsym(void*, const char*);

namespace hostprobe::probe {
namespace {

std::atomic<unsigned long long> g_scanned_adds{0}, g_scanned_subs{0};
std::atomic<unsigned> g_known_libraries{0};
std::atomic_flag g_scanning = ATOMIC_FLAG_INIT;

bool wanted(const char* name) { return strcmp(name, "dlsym") == 0 || is_routed_name(name); }

// Undefined symbols come before the hashed ones, so most objects are done after a look at a few names, without touching
// their (possibly huge) relocations. Except in programs at a fixed address: a function whose address they take is hashed.
bool asks_for_us(const ElfObject& d) {
  if (d.bias == 0) return true;
  std::uint32_t end = d.gnu_hash != nullptr ? d.gnu_hash[1] : d.old_hash != nullptr ? d.old_hash[1] : 0;
  for (std::uint32_t i = 1; i < end; ++i)
    if (d.symbols[i].st_shndx == SHN_UNDEF && wanted(d.strings + d.symbols[i].st_name)) return true;
  return false;
}

// Calls visit(slot, name) for each slot of the object that one of our names is to be bound to.
template <class Visit>
void each_slot_in(const dl_phdr_info& object, const ElfObject& d, const ElfW(Rela) * table, std::size_t count,
                  Visit visit) {
  for (std::size_t i = 0; i < count; ++i) {
    auto type = ELF64_R_TYPE(table[i].r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
    const ElfW(Sym)& symbol = d.symbols[ELF64_R_SYM(table[i].r_info)];
    if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
    const char* name = d.strings + symbol.st_name;
    if (wanted(name)) visit(reinterpret_cast<void**>(object.dlpi_addr + table[i].r_offset), name);
  }
}

template <class Visit>
void each_slot(const dl_phdr_info& object, const ElfObject& d, Visit visit) {
  each_slot_in(object, d, d.plt, d.plt_count, visit);
  std::size_t skip = d.relative_count < d.data_count ? d.relative_count : 0;
  if (d.data != nullptr) each_slot_in(object, d, d.data + skip, d.data_count - skip, visit);
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

// What the global scope means by the names that new objects ask for. Looked up before the walk that patches: a lookup
// takes the loader's lock, and the walk holds another one that dlopen takes second.
constexpr unsigned kMostNames = 512;
struct GlobalNames {
  void* first_dlsym;
  const char* names[kMostNames];
  void* functions[kMostNames];
  void* in_library[kMostNames];
  unsigned count;
};
constinit GlobalNames g_global{};

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
  if (found == nullptr || is_address_of(library_of(name), found) || dl_iterate_phdr(defines_it, &definition) != 0)
    return found;
  return routed_function(name);
}

// Kept under our own copy of the name: the object that asks may be unloaded before it is looked up.
void add_global_name(const char* asked) {
  const Hook* hook = routed_hook(asked);
  const char* name = hook != nullptr                          ? hook->row->name
                     : strcmp(asked, "cuGetProcAddress") == 0 ? "cuGetProcAddress"
                                                              : "cuGetProcAddress_v2";
  for (unsigned i = 0; i < g_global.count; ++i)
    if (strcmp(g_global.names[i], name) == 0) return;
  if (g_global.count < kMostNames) g_global.names[g_global.count++] = name;
}

void look_up_global_names() {
  g_global.first_dlsym = real_dlsym(RTLD_DEFAULT, "dlsym");
  for (unsigned i = 0; i < g_global.count; ++i) {
    g_global.functions[i] = global_function(g_global.names[i]);
    g_global.in_library[i] = routed_function(g_global.names[i]);
  }
}

// The function a slot stands for: what it holds or, still unbound (pointing into its own object), what it would get: the
// global scope's function, else that of the library it is linked to.
void* bound_to(const dl_phdr_info& object, const ElfObject& d, void* held, const char* name) {
  if (!d.holds(held)) return held;
  for (unsigned i = 0; i < g_global.count; ++i) {
    if (strcmp(g_global.names[i], name) != 0) continue;
    if (g_global.functions[i] != nullptr) return g_global.functions[i];
    return d.needs[static_cast<unsigned>(library_of(name))] ? g_global.in_library[i] : nullptr;
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
  if (is_address_of(library_of(name), slot)) return;  // a library's own calls are not the program's
  void* held = *slot;
  void* real = bound_to(object, d, held, name);
  if (real == nullptr || !is_address_of(library_of(name), real)) return;
  void* wrapper = wrapper_for(name, real);
  if (wrapper != nullptr && wrapper != held) store_slot(object, slot, wrapper);
}

// Objects whose slots have been looked at, by the address of their headers. A full table only means looking again.
constexpr unsigned kSeen = 2048;
std::atomic<std::uintptr_t> g_seen[kSeen];

std::atomic<std::uintptr_t>& seen_slot(std::uintptr_t begin, unsigned probe) {
  return g_seen[((begin >> 6) * 0x9e3779b97f4a7c15u >> 40) % kSeen ^ probe];
}
constexpr unsigned kSeenProbes = 16;

bool is_seen(const dl_phdr_info& object) {
  auto begin = reinterpret_cast<std::uintptr_t>(object.dlpi_phdr);
  for (unsigned i = 0; i < kSeenProbes; ++i)
    if (seen_slot(begin, i).load(std::memory_order_relaxed) == begin) return true;
  return false;
}

void note_seen(const dl_phdr_info& object) {
  auto begin = reinterpret_cast<std::uintptr_t>(object.dlpi_phdr);
  for (unsigned i = 0; i < kSeenProbes; ++i) {
    std::uintptr_t none = 0;
    if (seen_slot(begin, i).compare_exchange_strong(none, begin, std::memory_order_relaxed)) return;
  }
}

struct Found {
  Library library;
  ElfObject object;
};
constexpr unsigned kMostLibraries = 8;
struct Scan {
  unsigned long long adds, subs;
  unsigned libraries;
  Found found[kMostLibraries];
};

int find_libraries(dl_phdr_info* object, size_t, void* argument) {
  auto* scan = static_cast<Scan*>(argument);
  scan->adds = object->dlpi_adds;
  scan->subs = object->dlpi_subs;
  Library library;
  if (object->dlpi_name == nullptr || !is_library_file(object->dlpi_name, library) || scan->libraries == kMostLibraries)
    return 0;
  scan->found[scan->libraries].library = library;
  if (read_elf_object(*object, scan->found[scan->libraries].object)) ++scan->libraries;
  return 0;
}

// Objects that need no look: ours, and the driver, whose own lookups are its own business.
bool is_left_alone(const dl_phdr_info& object) {
  Library library;
  return is_own_address(object.dlpi_phdr) ||
         (object.dlpi_name != nullptr && is_library_file(object.dlpi_name, library) && library == Library::kDriver);
}

int note_names(dl_phdr_info* object, size_t, void*) {
  ElfObject d;
  if (is_seen(*object) || is_left_alone(*object) || !read_elf_object(*object, d) || !asks_for_us(d)) return 0;
  each_slot(*object, d, [](void**, const char* name) {
    if (strcmp(name, "dlsym") != 0) add_global_name(name);
  });
  return 0;
}

void patch_object(const dl_phdr_info& object) {
  ElfObject d;
  if (is_left_alone(object) || !read_elf_object(object, d) || !asks_for_us(d)) return;
  each_slot(object, d, [&](void** slot, const char* name) { patch_slot(object, d, slot, name); });
}

int patch_new(dl_phdr_info* object, size_t, void*) {
  if (is_seen(*object)) return 0;
  note_seen(*object);
  patch_object(*object);
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

void scan_new_objects() {
  Scan scan{};
  dl_iterate_phdr(read_changes, &scan);
  if (scan.adds == g_scanned_adds.load(std::memory_order_acquire)) return;
  if (g_scanning.test_and_set(std::memory_order_acquire)) return;
  find_dlsym();
  dl_iterate_phdr(find_libraries, &scan);
  for (unsigned i = 0; i < scan.libraries; ++i) learn_library(scan.found[i].library, scan.found[i].object);
  // Objects linked to a library that came after them, or new ones at the address of an unloaded one: look again.
  if (scan.libraries != g_known_libraries.exchange(scan.libraries, std::memory_order_relaxed) ||
      scan.subs != g_scanned_subs.exchange(scan.subs, std::memory_order_relaxed))
    forget_seen();
  g_global.count = 0;
  if (scan.libraries != 0) dl_iterate_phdr(note_names, nullptr);  // a failed lookup makes libc allocate
  look_up_global_names();
  dl_iterate_phdr(patch_new, nullptr);
  g_scanned_adds.store(scan.adds, std::memory_order_release);
  g_scanning.clear(std::memory_order_release);
}

}  // namespace hostprobe::probe
