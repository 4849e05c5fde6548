// start_objects.cpp: see start_objects.h.
#include "probe/runtime/start_objects.h"

#include <dlfcn.h>

#include "probe/runtime/at_start.h"
#include "probe/runtime/elf_object.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/sanitizer.h"

extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
extern const ElfW(Addr) hp_call_slots[] __attribute__((visibility("hidden")));  // layout.ld
}

namespace hostprobe::probe {
namespace {

// The objects that the program starts with stay in the loader's list, in this order, and are never unloaded. So from ours
// to the last of them the list can be read at any time, without the loader's lock: a hook may be called for the first time
// by a thread that another one waits for in a constructor, or in a signal handler.
HP_START_DATA const link_map* g_own_object = nullptr;
HP_START_DATA const link_map* g_last_start_object = nullptr;
HP_START_DATA const link_map* g_first_object = nullptr;
HP_START_DATA const link_map* g_libc = nullptr;

// The loader leaves it where its function for lazy binding finds it; nothing is bound lazily under LD_BIND_NOW.
HP_START_CODE const link_map* ask_own_object() {
  auto* own = reinterpret_cast<const link_map*>(hp_call_slots[1]);
  if (own != nullptr) return own;
  Dl_info info;
  void* found = nullptr;
  return dladdr1(__ehdr_start, &info, &found, RTLD_DL_LINKMAP) == 0 ? nullptr : static_cast<link_map*>(found);
}

struct Found {
  bool library, sanitizer;
};

HP_START_CODE void look_at(const link_map& map, Found& found) {
  const char* file = file_of(map.l_name);
  Library library;
  if (is_library(file, library)) found.library = true;
  if (is_sanitizer(file)) found.sanitizer = true;
  if (same(file, "libc.so.6")) g_libc = &map;
}

}  // namespace

void* find_at_start(const char* name, const char* version) {
  for (const link_map* map = g_own_object; map != g_last_start_object;) {
    map = map->l_next;
    ElfObject object;
    if (!read_symbols(*map, object)) continue;
    const ElfW(Sym)* symbol = versioned_symbol(object, name, version);
    if (symbol == nullptr) continue;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) return nullptr;
    return reinterpret_cast<void*>(object.bias + symbol->st_value);
  }
  return nullptr;
}

HP_START_CODE bool look_at_start_objects() {
  const link_map* own = ask_own_object();
  if (own == nullptr) return true;
  Found found{};
  const link_map *first = own, *last = own;
  for (; first->l_prev != nullptr; first = first->l_prev) look_at(*first->l_prev, found);
  for (; last->l_next != nullptr; last = last->l_next) look_at(*last->l_next, found);
  g_own_object = own;
  g_first_object = first;
  g_last_start_object = last;
  g_has_sanitizer = g_libc != nullptr && (found.sanitizer || holds_sanitizer(*first));
  if (g_has_sanitizer) call_libc_itself(*own, *g_libc);
  return found.library;
}

void* libc_function(const char* name, const char* version) {
  ElfObject object;
  if (g_libc == nullptr || !read_symbols(*g_libc, object)) return nullptr;
  const ElfW(Sym)* symbol = versioned_symbol(object, name, version);
  if (symbol == nullptr || ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) return nullptr;
  return reinterpret_cast<void*>(object.bias + symbol->st_value);
}

// The loader comes last where it is only libc's own dependency, so it is looked for from there.
HP_START_CODE const void* loader_object(const char* name, std::size_t& bytes) {
  for (const link_map* map = g_last_start_object; map != g_own_object; map = map->l_prev) {
    ElfObject object;
    const ElfW(Sym)* symbol = read_symbols(*map, object) ? object_symbol(object, name) : nullptr;
    if (symbol == nullptr) continue;
    bytes = symbol->st_size;
    return reinterpret_cast<void*>(object.bias + symbol->st_value);
  }
  return nullptr;
}

void bind_own_calls() {
  HP_KEPT_BY_CHILDREN static bool g_bound = false;  // of several threads each does the same
  if (!g_bound && !g_has_sanitizer && g_libc != nullptr) call_libc_itself(*g_own_object, *g_libc);
  g_bound = true;
}

HP_START_CODE const link_map* own_object() { return g_own_object; }

const link_map* first_object() { return g_first_object; }

// Of the objects that the program starts with, one in front of that one.
static bool is_defined_before(const link_map* end, const char* name) {
  for (const link_map* map = g_first_object; map != nullptr && map != end; map = map->l_next) {
    ElfObject object;
    if (read_symbols(*map, object) && defined_function(object, name) != nullptr) return true;
    if (map == g_last_start_object) break;
  }
  return false;
}

bool dlsym_is_ours() { return g_own_object != nullptr && !is_defined_before(g_own_object, "dlsym"); }

bool allocator_is_libcs() { return !is_defined_before(g_libc, "malloc"); }

const link_map* start_objects(const link_map*& last) {
  last = g_last_start_object;
  const link_map* first = g_own_object;
  while (first != nullptr && first->l_prev != nullptr) first = first->l_prev;
  return first;
}

bool is_own_address(const void* address) {
  auto* a = static_cast<const char*>(address);
  return a >= __ehdr_start && a < _end;
}

}  // namespace hostprobe::probe
