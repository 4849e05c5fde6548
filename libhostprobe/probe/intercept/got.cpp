// got.cpp: patching the slots through which loaded objects call the driver, NCCL and dlsym.
//
// Room 2 (probe/). Reaches what symbol lookup cannot: objects linked to these libraries, whose calls we do not take by
// exporting the names, and objects opened RTLD_DEEPBIND, which never see a preload's dlsym. Cold: runs in the constructor,
// in dlsym and pthread_create calls and in the writer thread when objects were loaded since. A slot is patched only when
// it holds, or would be bound to, the library's own function: a program may have functions and variables of these names.
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <atomic>

#include "probe/intercept/injection.h"
#include "probe/intercept/loader.h"
#include "probe/intercept/resolve.h"
#include "probe/intercept/routes.h"
#include "probe/record/hook.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/elf_object.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/start_objects.h"

extern "C" __attribute__((visibility("hidden"))) void* hp_dlsym(void*, const char*);

namespace hostprobe::probe {
namespace {

HP_START_DATA constinit std::atomic<unsigned long long> g_scanned_adds{0};
HP_KEPT_BY_CHILDREN std::atomic<unsigned long long> g_scanned_subs{0};
HP_KEPT_BY_CHILDREN std::atomic<unsigned long long> g_passed_adds{
    0};  // up to which a scan in passing has done what it may
HP_KEPT_BY_CHILDREN std::atomic<unsigned> g_known_libraries{0};

bool wanted(const char* name) { return same(name, "dlsym") || is_routed_name(name); }

// Undefined symbols come before the hashed ones, so most objects are done after a look at a few names, without touching
// their (possibly huge) relocations. Except in programs at a fixed address: a function whose address they take is hashed.
bool asks_for_us(const ElfObject& d) {
  if (d.bias == 0) return true;
  std::uint32_t end = d.gnu_hash != nullptr ? d.gnu_hash[1] : d.old_hash != nullptr ? d.old_hash[1] : 0;
  for (std::uint32_t i = 1; i < end; ++i)
    if (d.symbols[i].st_shndx == SHN_UNDEF && wanted(d.strings + d.symbols[i].st_name)) return true;
  return false;
}

// Calls visit(slot, name) for each slot of the object that one of our names is to be bound to, and for that of getenv: whoever
// looks for a tool of NVTX calls dlsym as well.
template <class Visit>
void each_slot_in(const dl_phdr_info& object, const ElfObject& d, const ElfW(Rela) * table, std::size_t count,
                  Visit visit) {
  for (std::size_t i = 0; i < count; ++i) {
    auto type = ELF64_R_TYPE(table[i].r_info);
    if (!is_function_slot(type)) continue;
    const ElfW(Sym)& symbol = d.symbols[ELF64_R_SYM(table[i].r_info)];
    if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
    const char* name = d.strings + symbol.st_name;
    if (wanted(name) || same(name, "getenv"))
      visit(reinterpret_cast<void**>(object.dlpi_addr + table[i].r_offset), name);
  }
}

template <class Visit>
void each_slot(const dl_phdr_info& object, const ElfObject& d, Visit visit) {
  each_slot_in(object, d, d.plt, d.plt_count, visit);
  std::size_t skip = d.relative_count < d.data_count ? d.relative_count : 0;
  if (d.data != nullptr) each_slot_in(object, d, d.data + skip, d.data_count - skip, visit);
}

// RELRO pages are writable for the moment of one store. In passing they are left alone: the object may be one that is being
// relocated, and a page that the loader is still writing to would become read-only under its hands.
void store_slot(const dl_phdr_info& object, void** slot, void* value, ScanBy by) {
  auto address = reinterpret_cast<std::uintptr_t>(slot);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& p = object.dlpi_phdr[i];
    if (p.p_type != PT_GNU_RELRO) continue;
    std::uintptr_t begin = (object.dlpi_addr + p.p_vaddr) & ~(page_bytes() - 1);
    std::uintptr_t end = (object.dlpi_addr + p.p_vaddr + p.p_memsz) & ~(page_bytes() - 1);
    if (address < begin || address >= end) continue;
    if (by == ScanBy::kPassing) return;
    void* page = reinterpret_cast<void*>(address & ~(page_bytes() - 1));
    if (system_call(SYS_mprotect, word_of_pointer(page), static_cast<long>(page_bytes()), PROT_READ | PROT_WRITE) != 0)
      return;
    std::atomic_ref(*slot).store(value, std::memory_order_release);
    system_call(SYS_mprotect, word_of_pointer(page), static_cast<long>(page_bytes()), PROT_READ);
    return;
  }
  std::atomic_ref(*slot).store(value, std::memory_order_release);
}

// What the global scope means by the names that new objects ask for. Most often there is only the library's own function;
// else the loader is asked, before the walk that patches: a lookup takes a lock that dlopen takes before the walk's.
constexpr unsigned kMostNames = 512;
struct GlobalNames {
  void* first_dlsym;
  const char* names[kMostNames];
  void* functions[kMostNames];
  void* in_library[kMostNames];
  bool has_others[kMostNames];  // an object that is no such library defines it too
  unsigned count;
};
HP_KEPT_BY_CHILDREN constinit GlobalNames g_global{};

// A program that is not position-independent has the address of its own PLT entry as *the* address of a function it
// takes the address of. That is what lookups find, but nobody defines anything there.
void* global_function(const char* name) {
  void* found = real_dlsym(RTLD_DEFAULT, name);
  dl_phdr_info info;
  ElfObject object;
  if (found == nullptr || is_address_of(library_of(name), found) ||
      (find_object(found, info) && read_elf_object(info, object) && defined_function(object, name) == found))
    return found;
  return routed_function(name);
}

// Kept under another copy of the name: the object that asks may be unloaded before it is looked up.
void add_global_name(const char* asked) {
  const char* name = lasting_name(asked);
  if (name == nullptr) return;
  for (unsigned i = 0; i < g_global.count; ++i)
    if (same(g_global.names[i], name)) return;
  if (g_global.count == kMostNames) return;
  g_global.has_others[g_global.count] = false;
  g_global.names[g_global.count++] = name;
}

int note_definitions(dl_phdr_info* info, std::size_t, void*) {
  ElfObject object;
  Library library;
  const bool is_library = info->dlpi_name != nullptr && is_library_file(info->dlpi_name, library);
  if (is_own_address(info->dlpi_phdr) || !read_elf_object(*info, object)) return 0;
  for (unsigned i = 0; i < g_global.count; ++i)
    if (!(is_library && library == library_of(g_global.names[i])) &&
        defined_function(object, g_global.names[i]) != nullptr)
      g_global.has_others[i] = true;
  return 0;
}

// False: the loader would have to be asked, and may not be.
bool look_up_global_names(ScanBy by) {
  if (g_global.first_dlsym == nullptr && dlsym_is_ours()) g_global.first_dlsym = reinterpret_cast<void*>(&hp_dlsym);
  if (g_global.count != 0) each_object(note_definitions, nullptr);
  for (unsigned i = 0; i < g_global.count; ++i) {
    g_global.in_library[i] = g_global.functions[i] = routed_function(g_global.names[i]);
    if (!g_global.has_others[i]) continue;
    if (by != ScanBy::kLookup) return false;
    g_global.functions[i] = global_function(g_global.names[i]);
  }
  return true;
}

// The function a slot stands for: what it holds or, still unbound (pointing into its own object), what it would get: the
// global scope's function, else that of the library it is linked to.
void* bound_to(const dl_phdr_info& object, const ElfObject& d, void* held, const char* name) {
  if (!d.holds(held)) return held;
  for (unsigned i = 0; i < g_global.count; ++i) {
    if (!same(g_global.names[i], name)) continue;
    if (g_global.functions[i] != nullptr) return g_global.functions[i];
    return d.needs[static_cast<unsigned>(library_of(name))] ? g_global.in_library[i] : nullptr;
  }
  return nullptr;
}

// A dlsym slot may be bound to libc past us (RTLD_DEEPBIND), or not be bound yet: then it gets whoever is first in the
// global scope, as if it had been bound there.
void patch_dlsym_slot(const dl_phdr_info& object, const ElfObject& d, void** slot, ScanBy by) {
  void* held = *slot;
  if (held == reinterpret_cast<void*>(real_dlsym))
    store_slot(object, slot, reinterpret_cast<void*>(&hp_dlsym), by);
  else if (d.holds(held) && g_global.first_dlsym != nullptr)
    store_slot(object, slot, g_global.first_dlsym, by);
}

void patch_getenv_slot(const dl_phdr_info& object, const ElfObject& d, void** slot, ScanBy by) {
  if (*slot == reinterpret_cast<void*>(&getenv) || d.holds(*slot))
    store_slot(object, slot, reinterpret_cast<void*>(&getenv_or_our_path), by);
}

void patch_slot(const dl_phdr_info& object, const ElfObject& d, void** slot, const char* name, ScanBy by) {
  if (same(name, "getenv")) return patch_getenv_slot(object, d, slot, by);
  if (same(name, "dlsym")) return patch_dlsym_slot(object, d, slot, by);
  if (is_address_of(library_of(name), slot)) return;  // a library's own calls are not the program's
  void* held = *slot;
  void* real = bound_to(object, d, held, name);
  if (real == nullptr || !is_address_of(library_of(name), real)) return;
  void* wrapper = wrapper_for(name, real);
  if (wrapper != nullptr && wrapper != held) store_slot(object, slot, wrapper, by);
}

// Objects whose slots have been looked at, by the address of their headers. A full table only means looking again.
constexpr unsigned kSeen = 2048;
HP_KEPT_BY_CHILDREN std::atomic<std::uintptr_t> g_seen[kSeen];

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

constexpr unsigned kMostLibraries = 8;
struct Scan {
  ScanBy by;
  unsigned long long adds, subs;
  unsigned objects;  // of the list: what is added from now on is the next scan's, it may not be relocated yet
  unsigned looked_at;
  unsigned libraries;
  LoadedLibrary found[kMostLibraries];
};

int count_objects(dl_phdr_info* object, size_t, void* argument) {
  auto* scan = static_cast<Scan*>(argument);
  scan->adds = object->dlpi_adds;
  scan->subs = object->dlpi_subs;
  ++scan->objects;
  return 0;
}

int find_libraries(dl_phdr_info* object, size_t, void* argument) {
  auto* scan = static_cast<Scan*>(argument);
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
    if (is_routed_name(name)) add_global_name(name);
  });
  return 0;
}

void patch_object(const dl_phdr_info& object, ScanBy by) {
  ElfObject d;
  if (is_left_alone(object) || !read_elf_object(object, d) || !asks_for_us(d)) return;
  each_slot(object, d, [&](void** slot, const char* name) { patch_slot(object, d, slot, name, by); });
}

int patch_new(dl_phdr_info* object, size_t, void* argument) {
  auto* scan = static_cast<Scan*>(argument);
  if (scan->looked_at++ == scan->objects) return 1;
  if (is_seen(*object)) return 0;
  if (scan->by == ScanBy::kLookup) note_seen(*object);
  patch_object(*object, scan->by);
  return 0;
}

void forget_seen() {
  for (auto& slot : g_seen) slot.store(0, std::memory_order_relaxed);
}

void scan(ScanBy by) {
  Scan scan{};
  scan.by = by;
  each_object(count_objects, &scan);
  // Waits until whatever is in that list has been relocated: the loader keeps this lock for as long.
  if (by == ScanBy::kLookup) g_global.first_dlsym = real_dlsym(RTLD_DEFAULT, "dlsym");
  each_object(find_libraries, &scan);
  learn_libraries(scan.found, scan.libraries);
  // Objects linked to a library that came after them, or new ones at the address of an unloaded one: look again.
  if (scan.libraries != g_known_libraries.exchange(scan.libraries, std::memory_order_relaxed) ||
      scan.subs != g_scanned_subs.exchange(scan.subs, std::memory_order_relaxed))
    forget_seen();
  g_global.count = 0;
  if (scan.libraries != 0) each_object(note_names, nullptr);  // a failed lookup makes libc allocate
  if (look_up_global_names(by)) each_object(patch_new, &scan);
  (by == ScanBy::kLookup ? g_scanned_adds : g_passed_adds).store(scan.adds, std::memory_order_release);
}

// One at a time. Who looks something up waits for the other: its answer may be a function of an object that is not patched
// yet. That is no more than the wait for the loader's own lock in every dlsym. A handler that interrupted the scan does not.
bool begin_scan(ScanBy by, unsigned long long added) {
  auto self = static_cast<std::uint32_t>(system_call(SYS_gettid, 0, 0));
  Nap nap(by == ScanBy::kLookup ? kPatienceMs : 0);
  for (;;) {
    std::uint32_t other = 0;
    if (__atomic_compare_exchange_n(&g_gate.scanner, &other, self, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return true;
    if (other == self || !nap.taken()) return false;
    if (g_scanned_adds.load(std::memory_order_acquire) >= added) return false;
  }
}

}  // namespace

HP_START_CODE void nothing_to_scan_yet() {
  if (load_count_is_known()) g_scanned_adds.store(load_count(), std::memory_order_relaxed);
}

void scan_start_objects_too() {
  if (g_known_libraries.load(std::memory_order_relaxed) == 0) g_scanned_adds.store(0, std::memory_order_release);
}

void scan_new_objects(ScanBy by) {
  unsigned long long added = load_count();
  if (HP_LIKELY(added == g_scanned_adds.load(std::memory_order_acquire))) return;
  if (by == ScanBy::kPassing && added == g_passed_adds.load(std::memory_order_relaxed)) return;
  LoaderVisit visit(by == ScanBy::kLookup ? kPatienceMs : 0);
  if (!visit || !begin_scan(by, added)) return;
  if (by == ScanBy::kLookup)
    find_dlsym();
  else
    find_own_dlsym();
  scan(by);
  __atomic_store_n(&g_gate.scanner, 0, __ATOMIC_RELEASE);
}

}  // namespace hostprobe::probe
