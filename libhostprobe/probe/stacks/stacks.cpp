// stacks.cpp: see stacks.h.
#include "probe/stacks/stacks.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "probe/record/hook.h"
#include "probe/record/shelter.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/safe_memory.h"
#include "probe/runtime/stack_limits.h"
#include "probe/runtime/start_objects.h"
#include "probe/stacks/python_frames.h"
#include "probe/stacks/stack_table.h"
#include "probe/stacks/walk.h"

namespace hostprobe::probe {

namespace {

using FindObject = int (*)(void*, dl_find_object*);

HP_KEPT_BY_CHILDREN std::atomic<FindObject> g_find_object{nullptr};
// After eight equal stacks of a thread its next one is half as soon, and an eighth as soon at last.
constexpr std::uint16_t kSameToDouble = 8, kMostSame = 3 * kSameToDouble;

// What a sample is made in, because the stack may be a small one.
struct SampleRoom {
  std::uint32_t python[kStackPythonFrames];
  NativeFrames frames;
  PythonFrame python_frames[kStackPythonFrames];
  union {
    WalkRoom walk;
    PythonWork python_work;
  };
};
constexpr unsigned kSampleRooms = 4;
HP_KEPT_BY_CHILDREN SampleRoom g_rooms[kSampleRooms];
HP_OF_PROCESS std::atomic<std::uint32_t> g_room_owners[kSampleRooms];  // thread, 0: free

// One that the thread itself holds was left by a jump out of a signal handler. All in use: then there is no stack.
SampleRoom* take_sample_room(std::uint32_t thread) {
  for (unsigned i = 0; i < kSampleRooms; ++i) {
    std::uint32_t owner = 0;
    if (g_room_owners[i].compare_exchange_strong(owner, thread, std::memory_order_acquire)) return &g_rooms[i];
    if (owner == thread) return &g_rooms[i];
  }
  return nullptr;
}

void give_back(const SampleRoom& room) { g_room_owners[&room - g_rooms].store(0, std::memory_order_release); }

bool copy_own_memory(void* memory, void* to, std::uint64_t from, std::size_t bytes) {
  return static_cast<const Memory*>(memory)->copy(to, from, bytes);
}

bool find_code_object(void*, std::uint64_t address, CodeObject& object) {
  dl_find_object found;
  if (g_find_object.load(std::memory_order_relaxed)(reinterpret_cast<void*>(address), &found) != 0) return false;
  object = {reinterpret_cast<std::uint64_t>(found.dlfo_map_start), reinterpret_cast<std::uint64_t>(found.dlfo_map_end),
            reinterpret_cast<std::uint64_t>(found.dlfo_eh_frame)};
  return true;
}

// Some ten seconds.
std::uint32_t epoch_of(std::uint64_t now_ticks) { return static_cast<std::uint32_t>(now_ticks >> 35); }

// The walk begins in this very frame: it must not return before the walk has ended.
__attribute__((noinline)) void read_native(SampleRoom& room, std::uint64_t now_ticks) {
  Memory memory;
  WalkRoom& walk = room.walk;
  walk.around = {copy_own_memory, find_code_object, &memory};
  Registers& here = walk.registers;
  HP_TAKE_REGISTERS(here.value);
  here.known = kTakenRegisters;
  room.frames.count = walk_frames(walk, epoch_of(now_ticks), is_own_address, room.frames.native, kStackFrames);
  asm volatile("" : : : "memory");
}

unsigned read_python(SampleRoom& room) {
  if (!python_frames_ready()) return 0;
  const unsigned count = python_frames_read(room.python_frames, kStackPythonFrames, room.python_work);
  name_frames(room.python_frames, count, room.python);
  return count;
}

// A thread that waits in the same place each time need not be asked so often. One that runs Python may come there from many lines.
void count_same(ThreadLocal& t, std::uint16_t id, bool runs_python) {
  const bool is_same = id != 0 && id == t.last_stack && !runs_python;
  t.same_stacks = !is_same ? 0 : t.same_stacks < kMostSame ? t.same_stacks + 1 : kMostSame;
  t.last_stack = id;
}

std::uint16_t sample_in(ThreadLocal& t, SampleRoom& room, std::uint64_t now_ticks) {
  room.frames.count = 0;
  if (g_find_object.load(std::memory_order_acquire) != nullptr) read_native(room, now_ticks);
  unsigned python_count = read_python(room);
  const std::uint16_t id =
      room.frames.count + python_count == 0 ? 0 : stack_number(room.frames, room.python, python_count);
  count_same(t, id, python_count != 0);
  return id;
}

std::uint16_t sample_on(ThreadLocal& t, std::uint64_t now_ticks) {
  int cancel_state = 0;
  // For a thread that may be cancelled anywhere: what is taken here must be given back.
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  Shelter shelter;
  std::uint16_t id = 0;
  // Without an entry a handler has forked since, and this is the child, which has no table of stacks yet.
  SampleRoom* room = t.entry != nullptr ? take_sample_room(t.tid) : nullptr;
  if (room != nullptr) {
    id = sample_in(t, *room, now_ticks);
    give_back(*room);
  }
  pthread_setcancelstate(cancel_state, nullptr);
  return id;
}

// The first stack of a place says who waits there, and is worth its cost always: so many of them, never more.
constexpr unsigned kSites = 256, kSiteProbes = 4;
HP_OF_PROCESS std::atomic<std::uint64_t> g_sites[kSites];
HP_OF_PROCESS std::atomic<bool> g_first_only{false};

bool is_new_site(const void* site) {
  const auto key = reinterpret_cast<std::uint64_t>(site);
  const auto first = static_cast<unsigned>(key * 0x9e3779b97f4a7c15u >> 56);
  for (unsigned probe = 0; probe < kSiteProbes; ++probe) {
    std::atomic<std::uint64_t>& slot = g_sites[(first + probe) % kSites];
    std::uint64_t known = slot.load(std::memory_order_relaxed);
    if (known == 0 && slot.compare_exchange_strong(known, key, std::memory_order_relaxed)) return key != 0;
    if (known == key) return false;
  }
  return false;
}

// A thread that never waits long would have no stack at all.
constexpr std::uint64_t kShorter = 8, kRarer = 4;  // so short a wait may have one, after so many intervals without
constexpr double kUsualUs = 125;                   // that a stack takes: 0.25 % of the default interval
HP_OF_PROCESS std::atomic<std::uint64_t> g_usual_ticks{0};
constexpr double kMostIntervals = 3;  // one that was interrupted says nothing of the next

bool is_due(ThreadLocal& t, std::uint64_t now_ticks, bool is_long) {
  if (!is_long && t.last_stack_ticks == 0) t.last_stack_ticks = now_ticks;  // not at once
  const std::uint64_t pause = g_limits.stack_interval_ticks * (is_long ? 1 : kRarer) << t.same_stacks / kSameToDouble;
  const bool is_over = now_ticks >= t.last_stack_ticks && now_ticks - t.last_stack_ticks >= pause;
  return is_over && !g_first_only.load(std::memory_order_relaxed);
}

// Where a stack takes longer, of cold caches or many frames, the next one is later: a thread pays the same part of its time at once, and not
// when the budget finds out.
std::uint64_t later_by(std::uint64_t took_ticks) {
  const std::uint64_t usual = g_usual_ticks.load(std::memory_order_relaxed);
  if (usual == 0 || took_ticks <= usual) return 0;
  const double intervals = static_cast<double>(took_ticks - usual) / static_cast<double>(usual);
  return static_cast<std::uint64_t>(static_cast<double>(g_limits.stack_interval_ticks) *
                                    (intervals < kMostIntervals ? intervals : kMostIntervals));
}

}  // namespace

void take_first_stacks_only(bool first_only) { g_first_only.store(first_only, std::memory_order_relaxed); }

std::uint16_t sample_stack(std::uint64_t now_ticks, const void* site, std::uint64_t length) {
  ThreadLocal& t = t_local;
  if (t.taking || t.filling != 0 || t.entry == nullptr) return 0;
  const bool is_long = length >= g_limits.stack_ticks;
  if (!(is_long && is_new_site(site)) && !is_due(t, now_ticks, is_long)) return 0;
  t.last_stack_ticks = now_ticks;
  std::uint64_t begin = ticks();
  std::uint16_t id = stack_has_room() ? sample_on(t, now_ticks) : 0;
  const std::uint64_t took = ticks() - begin;
  t.last_stack_ticks += later_by(took);
  count_own_ticks(took);
  return id;
}

// A libc that has no _dl_find_object, 2.34's, gives no native frames: then a wait is known by its caller's library and offset.
void prepare_stacks() {
  if (g_options.stack_us == 0 || g_find_object.load(std::memory_order_relaxed) != nullptr) return;
  g_find_object.store(reinterpret_cast<FindObject>(find_at_start("_dl_find_object", "GLIBC_2.35")),
                      std::memory_order_release);
}

void set_stack_ticks(double ticks_per_us, std::uint32_t times_rarer) {
  g_usual_ticks.store(static_cast<std::uint64_t>(kUsualUs * ticks_per_us), std::memory_order_relaxed);
  g_limits.stack_interval_ticks =
      static_cast<std::uint64_t>(static_cast<double>(g_options.stack_interval_ms) * 1000 * ticks_per_us) * times_rarer;
  g_limits.stack_ticks = g_options.stack_us == 0
                             ? ~std::uint64_t{0}
                             : static_cast<std::uint64_t>(static_cast<double>(g_options.stack_us) * ticks_per_us);
  g_limits.short_stack_ticks = g_options.stack_us == 0 ? ~std::uint64_t{0} : g_limits.stack_ticks / kShorter;
}

}  // namespace hostprobe::probe
