// pin.cpp: the fix `pin`: the main thread and the NCCL progress threads of a rank have CPUs of their own, next to its GPU.
//
// Room 2 (probe/). It begins once the process uses a GPU. Rules of the choice: placement.h; how ranks keep out of
// each other's way: cpu_claims.h; what must not notice: pinned_threads.h.
// All of it on the writer thread, whose own mask nobody pins: what the kernel makes of that tells when CPUs are
// taken from the process or given to it.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

#include "probe/fixes/placement/cpu_claims.h"
#include "probe/fixes/placement/gpu_of_process.h"
#include "probe/fixes/placement/machine.h"
#include "probe/fixes/placement/pinned_threads.h"
#include "probe/fixes/row/fix.h"
#include "probe/hooks/communicators.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/own_threads.h"
#include "probe/runtime/rank.h"
#include "probe/writer/file/events.h"

extern char** environ;

namespace hostprobe::probe {
namespace {

// Looks, a quarter of a second each, until a mask that is not ours counts as the program's, and a number of ranks as whole.
constexpr int kPatience = 4;
constexpr int kMostTries = 40;  // to get CPUs that others are just taking
constexpr int kSaidLater = 8;   // looks at a process that has not come to its GPU yet
constexpr std::size_t kText = 96;

HP_KEPT_BY_CHILDREN std::atomic<bool> g_wanted{false};
HP_OF_PROCESS std::atomic<FixState> g_settled{FixState::kOff};

// The writer's.
struct Pinned {
  bool is_on;
  int waited;
  int tries;
  int strange_looks;
  int same_ranks_looks;
  int writer;  // its thread id
  LookSeldom looks;
  PinnedMasks masks;
  PinnedMasks before;  // what was given out before the allowed CPUs changed
  bool has_before;
  Placement placement;
  Demand demand;
};
HP_OF_PROCESS Pinned g_pin{};
HP_OF_PROCESS Machine g_machine{};

int main_thread() { return own_process(); }

void note(bool on, const char* text) { note_event(kEventFix, 0, on, 0, text); }

void settle(FixState state, const char* text) {
  g_settled.store(state, std::memory_order_release);
  note(state == FixState::kOn, text);
}

// Of a job's ranks, those on this machine; 0: no launcher says it.
unsigned ranks_said() {
  for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    unsigned ranks = 0;
    for (const char* c = value_of(environ, name); c != nullptr && *c >= '0' && *c <= '9' && ranks < kMostCpus; ++c)
      ranks = ranks * 10 + static_cast<unsigned>(*c - '0');
    if (ranks != 0) return ranks;
  }
  return 0;
}

bool has_own_cpus(const CpuSet& base) {
  CpuSet parents;
  return cpus_of_thread(getppid(), parents) == 0 && !(parents == base);
}

// 0, or why there is no file for what ranks have taken.
int open_claims_file() {
  if (claims_hold()) return 0;
  char path[256];
  claims_path(environ, path, sizeof path);
  return open_claims(path);
}

// A number that other ranks may still raise.
bool ranks_are_counted(const CpuSet& base) {
  return !has_own_cpus(base) && ranks_said() == 0 && widest_membership().size > 1;
}

// Ranks that were started with the same mask as their launcher share it; others have theirs for themselves. Each rank of the
// widest communicator is counted once its own look has said that it is here.
unsigned ranks_beside(const CpuSet& base) {
  if (has_own_cpus(base)) return 1;
  if (const unsigned said = ranks_said()) return said;
  const Member widest = widest_membership();
  if (widest.size < 2 || open_claims_file() != 0) return 1;
  return count_ranks_here(widest.id, static_cast<unsigned>(widest.rank), static_cast<unsigned>(widest.size));
}

// False: more ranks may come within a second.
bool ranks_are_known(const CpuSet& base) {
  const unsigned ranks = ranks_beside(base);
  if (ranks != g_pin.demand.ranks) g_pin.same_ranks_looks = 0;
  g_pin.demand.ranks = ranks;
  return !ranks_are_counted(base) || ++g_pin.same_ranks_looks > kPatience;
}

// torchrun's NUMA binding gives each rank another mask than its own.
bool is_bound_by_launcher(const CpuSet& base) {
  return value_of(environ, "TORCHELASTIC_RUN_ID") != nullptr && has_own_cpus(base);
}

void describe(char (&text)[kText]) {
  char progress[16], base[16];
  write_cpus(g_pin.masks.progress, progress, sizeof progress);
  write_cpus(g_pin.masks.base, base, sizeof base);
  snprintf(text, sizeof text, "pin on: main on CPU %u, progress on %s, of %s%s",
           static_cast<std::uint16_t>(g_pin.placement.main), progress, base,
           g_machine.near.empty() ? "" : ", near the GPU");
}

void say_too_few(const Shortage& shortage) {
  char text[kText];
  snprintf(text, sizeof text, "pin stands back: %u CPUs are needed, there are %u%s", shortage.wanted, shortage.there,
           shortage.near ? " near the GPU that are free" : "");
  settle(FixState::kStandsBack, text);
}

// True: the main thread has another mask than `base`, and has had it for a while.
bool main_is_bound(const CpuSet& mask) {
  if (++g_pin.strange_looks < kPatience) return false;
  char cpus[32], text[kText];
  write_cpus(mask, cpus, sizeof cpus);
  snprintf(text, sizeof text, "pin stands back: the program has bound its main thread to %s", cpus);
  settle(FixState::kStandsBack, text);
  return true;
}

// The ranks' file. False: it cannot be used, which is said.
bool have_claims() {
  const int error = open_claims_file();
  if (error == 0) return true;
  char path[256], text[kText];
  claims_path(environ, path, sizeof path);
  snprintf(text, sizeof text, "pin refused: no file for what ranks have taken, %.24s (%.18s)", path,
           strerrordesc_np(error));
  settle(FixState::kRefused, text);
  return false;
}

// False: not now, or not at all, which is said.
bool take_cpus(const CpuSet& base) {
  char bus_id[32];
  find_bus_id(environ, bus_id, sizeof bus_id);
  const char* simulated = value_of(environ, "SIMNODE_SYSFS");
  read_machine({simulated != nullptr ? simulated : "/sys", "/sys"}, bus_id, base, g_machine);
  if (!have_claims()) return false;
  g_pin.demand.progress = progress_threads();
  Shortage shortage;
  if (!place_rank(g_machine, claimed_by_others(base), g_pin.demand, g_pin.placement, shortage)) {
    say_too_few(shortage);
    return false;
  }
  if (claim_cpus(g_pin.placement.claimed)) return true;
  if (++g_pin.tries == kMostTries)
    settle(FixState::kStandsBack, "pin stands back: other processes keep taking the CPUs");
  return false;
}

void move_threads() {
  const Pinned& pin = g_pin;
  set_cpus_of_thread(main_thread(), pin.masks.main);
  place_threads(pin.masks, pin.placement, pin.has_before ? &pin.before : nullptr);
}

void begin() {
  if (!process_uses_gpu()) {
    if (++g_pin.waited == kSaidLater) note(false, "pin waits until the process uses a GPU");
    return;
  }
  CpuSet base, mask;
  if (cpus_of_thread(0, base) != 0)
    return settle(FixState::kRefused, "pin refused: there are more CPUs than it can count");
  if (is_bound_by_launcher(base)) return settle(FixState::kStandsBack, "pin stands back: torchrun has bound this rank");
  if (cpus_of_thread(main_thread(), mask) != 0) return;
  const bool is_known = mask == base || (g_pin.has_before && g_pin.before.gave(mask, base));
  if (!is_known) {
    main_is_bound(mask);
    return;
  }
  if (!ranks_are_known(base) || !take_cpus(base)) return;
  if (!g_pin.has_before) note_own_masks(base);
  g_pin.masks = masks_of(base, g_pin.placement);
  publish_masks(g_pin.masks);
  move_threads();
  g_pin.is_on = true;
  g_pin.strange_looks = g_pin.tries = 0;
  g_pin.writer = own_task();
  char text[kText];
  describe(text);
  settle(FixState::kOn, text);
}

unsigned take_back(const CpuSet& base) {
  if (!g_pin.is_on) return 0;
  const unsigned restored = restore_threads(g_pin.masks, base);
  withdraw_masks();
  release_cpus(g_pin.placement.claimed);
  g_pin.is_on = false;
  return restored;
}

void end() {
  char text[kText];
  const bool was_on = g_pin.is_on;
  const unsigned restored = take_back(g_pin.masks.base);
  release_claims();
  g_pin = Pinned{};
  snprintf(text, sizeof text, "pin off: %u threads may run again where they might before", restored);
  g_settled.store(FixState::kOff, std::memory_order_release);
  if (was_on) note(false, text);
}

void begin_again(const CpuSet& base, const char* why) {
  note(false, why);
  const PinnedMasks before = g_pin.masks;
  const bool was_on = g_pin.is_on;
  take_back(base);
  g_pin = Pinned{};
  g_pin.before = before;
  g_pin.has_before = was_on;
  g_settled.store(FixState::kUnderWay, std::memory_order_release);
  begin();
}

// CPUs were unplugged, or the cpuset is another one. Anew, with what is left.
void begin_with_other_cpus(const CpuSet& base) {
  char was[24], is[24], text[kText];
  write_cpus(g_pin.masks.base, was, sizeof was);
  write_cpus(base, is, sizeof is);
  snprintf(text, sizeof text, "pin: the allowed CPUs were %s and are %s", was, is);
  begin_again(base, text);
}

// Ranks that have gone leave the others as they are: a job ends one rank after the other.
bool begins_with_more_ranks(const CpuSet& base) {
  const unsigned before = g_pin.demand.ranks, ranks = ranks_beside(base);
  if (before == 0 || ranks <= before) return false;
  char text[kText];
  snprintf(text, sizeof text, "pin: %u ranks share the CPUs, not %u", ranks, before);
  begin_again(base, text);
  return true;
}

// A writer that came back has the mask of the thread that started it, and a table without the claims.
bool welcome_new_writer() {
  const int self = own_task();
  if (g_pin.writer != self) {
    CpuSet mask;
    if (cpus_of_thread(0, mask) == 0 && g_pin.masks.gave(mask, g_pin.masks.base))
      set_cpus_of_thread(0, g_pin.masks.base);
    g_pin.writer = self;
  }
  if (claims_hold()) return true;
  return have_claims() && claim_cpus(g_pin.placement.claimed);
}

// As many progress threads as have come, as far as there are CPUs for them.
void make_room(unsigned progress) {
  Placement& placement = g_pin.placement;
  if (progress <= placement.progress_count) return;
  Placement more = placement;
  const CpuSet taken = claimed_by_others(g_pin.masks.base);
  if (!place_one_more(g_machine, taken, g_pin.demand, more) || !claim_cpus(more.claimed.without(placement.claimed)))
    return;
  const PinnedMasks before = g_pin.masks;
  placement = more;
  g_pin.masks = masks_of(before.base, placement);
  publish_masks(g_pin.masks);
  place_threads(g_pin.masks, placement, &before);
}

void look_at_threads() {
  make_room(place_threads(g_pin.masks, g_pin.placement, g_pin.has_before ? &g_pin.before : nullptr).progress);
}

void go_on() {
  CpuSet base, mask;
  if (!welcome_new_writer()) {
    take_back(g_pin.masks.base);
    if (g_settled.load(std::memory_order_relaxed) == FixState::kOn)
      settle(FixState::kStandsBack, "pin stands back: what this rank had taken was lost to another");
    return;
  }
  if (cpus_of_thread(0, base) != 0 || cpus_of_thread(main_thread(), mask) != 0) return;
  if (!(base == g_pin.masks.base)) return begin_with_other_cpus(base);
  if (begins_with_more_ranks(base)) return;
  if (!has_own_mask(main_thread()) && (mask == base || mask == g_pin.masks.main)) {
    g_pin.strange_looks = 0;
    if (mask == base) set_cpus_of_thread(main_thread(), g_pin.masks.main);
  } else if (main_is_bound(mask)) {
    take_back(base);
    return;
  }
  g_pin.looks.now_and_then(look_at_threads);
}

void want(bool on) { g_wanted.store(on, std::memory_order_release); }

void tend(bool last) {
  if (last) return;
  const FixState settled = g_settled.load(std::memory_order_relaxed);
  if (!g_wanted.load(std::memory_order_acquire)) {
    if (g_pin.is_on || g_pin.waited != 0 || g_pin.demand.ranks != 0 || settled != FixState::kOff) end();
  } else if (g_pin.is_on) {
    go_on();
  } else if (settled != FixState::kStandsBack && settled != FixState::kRefused) {
    begin();
  } else if (CpuSet base; settled == FixState::kStandsBack && cpus_of_thread(0, base) == 0) {
    begins_with_more_ranks(base);
  }
}

FixState state() { return state_of(g_wanted, g_settled); }

}  // namespace

const Fix kPinFix{fix_name::pin, want, state, tend};

}  // namespace hostprobe::probe
