// loader.cpp: see loader.h.
#include "probe/intercept/loader.h"

#include <dlfcn.h>
#include <time.h>

#include <atomic>

#include "probe/intercept/inherited_locks.h"
#include "probe/intercept/own_page.h"
#include "probe/record/gate.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/elf_object.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/start_objects.h"

namespace hostprobe::probe {
namespace {

int read_count(dl_phdr_info* object, std::size_t, void* argument) {
  *static_cast<unsigned long long*>(argument) = object->dlpi_adds;
  return 1;
}

// Price of a lock and a call, and only what visits see.
unsigned long long asked_count() {
  HP_KEPT_BY_CHILDREN static std::atomic<unsigned long long> g_last{0};
  if (LoaderVisit visit; visit) {
    unsigned long long count = 0;
    each_object(read_count, &count);
    g_last.store(count, std::memory_order_relaxed);
  }
  return g_last.load(std::memory_order_relaxed);
}

using FindObject = int (*)(void*, dl_find_object*);

struct Wanted {
  std::uintptr_t address;
  dl_phdr_info* object;
};

int compare_object(dl_phdr_info* object, std::size_t, void* argument) {
  auto* wanted = static_cast<Wanted*>(argument);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& p = object->dlpi_phdr[i];
    if (p.p_type == PT_LOAD && wanted->address - (object->dlpi_addr + p.p_vaddr) < p.p_memsz) {
      *wanted->object = *object;
      return 1;
    }
  }
  return 0;
}

bool ask_for_object(const void* address, dl_phdr_info& object) {
  Wanted wanted{reinterpret_cast<std::uintptr_t>(address), &object};
  LoaderVisit visit;
  return visit && each_object(compare_object, &wanted) != 0;
}

}  // namespace

HP_START_CODE bool load_count_is_known() { return g_load_count != nullptr; }

HP_START_CODE unsigned long long load_count() {
  return HP_LIKELY(g_load_count != nullptr) ? __atomic_load_n(g_load_count, __ATOMIC_ACQUIRE) : asked_count();
}

static bool is_elf_header(const void* start) { return after(static_cast<const char*>(start), ELFMAG) != nullptr; }

bool find_object(const void* address, dl_phdr_info& object) {
  HP_KEPT_BY_CHILDREN static std::atomic<FindObject> g_find{nullptr};
  auto find = g_find.load(std::memory_order_relaxed);
  if (find == nullptr) find = reinterpret_cast<FindObject>(libc_function("_dl_find_object", "GLIBC_2.35"));
  if (find == nullptr) return ask_for_object(address, object);
  g_find.store(find, std::memory_order_relaxed);
  dl_find_object found;
  if (find(const_cast<void*>(address), &found) != 0) return false;
  if (!is_elf_header(found.dlfo_map_start)) {
    // Segments with gaps in between (linked for pages of 64 KiB, loaded with smaller ones) are found one by one, and the header is
    // in the first of them.
    const link_map* map = found.dlfo_link_map;
    if (find(reinterpret_cast<void*>(map->l_addr), &found) != 0 || found.dlfo_link_map != map ||
        !is_elf_header(found.dlfo_map_start))
      return ask_for_object(address, object);
  }
  auto* header = static_cast<const ElfW(Ehdr)*>(found.dlfo_map_start);
  object = {};
  object.dlpi_addr = found.dlfo_link_map->l_addr;
  object.dlpi_name = found.dlfo_link_map->l_name;
  object.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(reinterpret_cast<const char*>(header) + header->e_phoff);
  object.dlpi_phnum = header->e_phnum;
  return true;
}

// By system calls: the program may have a clock of its own.
static std::uint64_t now_ns() {
  timespec now{};
  system_call(SYS_clock_gettime, CLOCK_MONOTONIC, word_of_pointer(&now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

Nap::Nap(unsigned patience_ms) : until_ns_(patience_ms == 0 ? 0 : now_ns() + patience_ms * std::uint64_t{1000000}) {}

bool Nap::taken() {
  if (until_ns_ == 0 || now_ns() >= until_ns_) return false;
  timespec pause{0, 100000};
  system_call(SYS_nanosleep, word_of_pointer(&pause), 0);
  return true;
}

LoaderVisit::LoaderVisit(unsigned patience_ms) {
  if (!own_page() || locks_are_inherited()) return;
  Nap nap(patience_ms);
  do {
    __atomic_fetch_add(&g_gate.visits, 1, __ATOMIC_SEQ_CST);
    is_allowed_ = __atomic_load_n(&g_gate.forks, __ATOMIC_SEQ_CST) == 0;
    if (is_allowed_) return;
    __atomic_fetch_sub(&g_gate.visits, 1, __ATOMIC_SEQ_CST);
  } while (nap.taken());
}

// In the child of a signal handler that forked in the middle of a visit, there is nothing to take back.
LoaderVisit::~LoaderVisit() {
  if (is_allowed_ && __atomic_load_n(&g_gate.visits, __ATOMIC_RELAXED) != 0)
    __atomic_fetch_sub(&g_gate.visits, 1, __ATOMIC_SEQ_CST);
}

}  // namespace hostprobe::probe
