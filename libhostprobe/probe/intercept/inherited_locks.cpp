// inherited_locks.cpp: see inherited_locks.h.
#include "probe/intercept/inherited_locks.h"

#include <link.h>

#include "probe/runtime/at_start.h"
#include "probe/runtime/elf_object.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/start_objects.h"

namespace hostprobe::probe {

// What dl_iterate_phdr reports as dlpi_adds.
HP_START_DATA const unsigned long long* g_load_count = nullptr;

namespace {

// Of a child that must not touch the locks until it has loaded something: the count it began with. 0: it may.
HP_KEPT_BY_CHILDREN unsigned long long g_inherited = 0;

}  // namespace

// Its place is private to the loader and has moved between versions, but since glibc 2.9 the pointer to the object whose
// constructor runs before all others has stood behind it; during our constructor that is us (-z initfirst). So the word
// before the pointer to ourselves is the counter, if it is what a counter can be: at least as many as there are objects.
HP_START_CODE void find_load_count() {
  const link_map* own = own_object();
  if (own == nullptr) return;
  std::size_t bytes = 0;
  auto* words = static_cast<const std::uint64_t*>(loader_object("_rtld_global", bytes));
  if (words == nullptr) return;
  unsigned long long least = 1;
  for (const link_map* map = own->l_prev; map != nullptr; map = map->l_prev) ++least;
  for (const link_map* map = own->l_next; map != nullptr; map = map->l_next) ++least;
  constexpr unsigned long long kMostOfOtherNamespaces = 4096;  // of auditors
  const std::size_t count = bytes / sizeof *words;
  if (count < 2) return;
  // From the middle on: the table of namespaces, which comes first, takes half of it.
  for (std::size_t left = count, i = count / 2; left != 0; --left, ++i) {
    if (i == count) i = 1;
    if (words[i] != reinterpret_cast<std::uint64_t>(own) || words[i - 1] - least >= kMostOfOtherNamespaces) continue;
    g_load_count = reinterpret_cast<const unsigned long long*>(words + i - 1);
    return;
  }
}

static unsigned long long count_now() { return __atomic_load_n(g_load_count, __ATOMIC_ACQUIRE); }

bool locks_are_inherited() { return g_inherited != 0 && (g_load_count == nullptr || count_now() == g_inherited); }

void inherit_loader(bool was_alone) {
  if (!was_alone || locks_are_inherited()) g_inherited = g_load_count != nullptr ? count_now() : 1;
}

}  // namespace hostprobe::probe
