// stacks.cpp: see stacks.h. Distinct stacks are kept once, in the segment's stack table; a record names its stack by number.
#include "stacks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unwind.h>

#include <atomic>

#include "chunk.h"
#include "clock.h"
#include "hook.h"
#include "options.h"
#include "python_frames.h"
#include "resolve.h"
#include "strings.h"

namespace hostprobe::probe {

constinit std::uint64_t g_stack_ticks = ~std::uint64_t{0};

namespace {

using Backtrace = _Unwind_Reason_Code (*)(_Unwind_Trace_Fn, void*);
using GetIp = _Unwind_Word (*)(_Unwind_Context*);

std::atomic<Backtrace> g_backtrace{nullptr};
GetIp g_get_ip = nullptr;
std::uint64_t g_interval_ticks = 0;

struct Frames {
  std::uint64_t native[kStackFrames];
  unsigned count;
};

// Our own frames on top are left out; the walk ends when the entry is full.
_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
  auto* frames = static_cast<Frames*>(argument);
  auto address = static_cast<std::uint64_t>(g_get_ip(context));
  if (address == 0) return _URC_END_OF_STACK;
  if (frames->count == 0 && is_own_address(reinterpret_cast<void*>(address))) return _URC_NO_REASON;
  if (frames->count == kStackFrames) return _URC_END_OF_STACK;
  frames->native[frames->count++] = address;
  return _URC_NO_REASON;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) { return (hash ^ word) * 0x100000001b3u + (hash >> 29); }

unsigned read_python(std::uint32_t (&ids)[kStackPythonFrames]) {
  if (!python_frames_ready()) return 0;
  PythonFrame frames[kStackPythonFrames];
  unsigned count = python_frames_read(frames, kStackPythonFrames);
  for (unsigned i = 0; i < count; ++i) ids[i] = string_id(frames[i].text, strnlen(frames[i].text, kPythonFrameBytes));
  return count;
}

void fill(StackEntry& entry, const Frames& frames, const std::uint32_t* python, unsigned python_count) {
  entry.native_count = static_cast<std::uint16_t>(frames.count);
  entry.python_count = static_cast<std::uint16_t>(python_count);
  memcpy(entry.native, frames.native, sizeof(std::uint64_t) * frames.count);
  memcpy(entry.python, python, sizeof(std::uint32_t) * python_count);
  std::atomic_ref(entry.ready).store(1, std::memory_order_release);
}

// The table is filled from the hash on; an entry is never changed again.
std::uint16_t find_or_add(const Frames& frames, const std::uint32_t* python, unsigned python_count) {
  std::uint64_t key = 0xcbf29ce484222325u;
  for (unsigned i = 0; i < frames.count; ++i) key = mix(key, frames.native[i]);
  for (unsigned i = 0; i < python_count; ++i) key = mix(key, python[i]);
  if (key == 0) key = 1;
  for (std::uint32_t probe = 0; probe < kStacks; ++probe) {
    std::uint32_t index = static_cast<std::uint32_t>((key + probe) % kStacks);
    StackEntry& entry = g_segment.stacks[index];
    std::uint64_t found = 0;
    if (std::atomic_ref(entry.key).compare_exchange_strong(found, key, std::memory_order_acq_rel)) {
      fill(entry, frames, python, python_count);
      return static_cast<std::uint16_t>(index + 1);
    }
    if (found == key) return static_cast<std::uint16_t>(index + 1);
  }
  std::atomic_ref(g_segment.header->stacks_lost).fetch_add(1, std::memory_order_relaxed);
  return 0;
}

}  // namespace

std::uint16_t sample_stack(std::uint64_t now_ticks) {
  ThreadLocal& t = t_local;
  Backtrace backtrace = g_backtrace.load(std::memory_order_acquire);
  if (t.taking || t.filling != 0 || t.entry == nullptr) return 0;
  if (backtrace == nullptr && !python_frames_ready()) return 0;
  if (now_ticks - t.last_stack_ticks < g_interval_ticks) return 0;
  int saved = errno, cancel_state = 0;
  std::uint64_t begin = ticks();
  t.taking = true;
  t.last_stack_ticks = now_ticks;
  // The wait has succeeded: a cancellation that acted inside the unwinder would swallow its result.
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  Frames frames{};
  if (backtrace != nullptr) backtrace(add_frame, &frames);
  std::uint32_t python[kStackPythonFrames];
  unsigned python_count = read_python(python);
  std::uint16_t id = frames.count + python_count == 0 ? 0 : find_or_add(frames, python, python_count);
  pthread_setcancelstate(cancel_state, nullptr);
  t.taking = false;
  t.entry->own_ticks += ticks() - begin;
  errno = saved;
  return id;
}

void open_unwinder() {
  if (g_options.stack_us == 0 || g_backtrace.load(std::memory_order_relaxed) != nullptr) return;
  void* library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;  // then a wait is known by its caller's library and offset alone
  g_get_ip = reinterpret_cast<GetIp>(real_dlsym(library, "_Unwind_GetIP"));
  auto backtrace = reinterpret_cast<Backtrace>(real_dlsym(library, "_Unwind_Backtrace"));
  if (g_get_ip != nullptr) g_backtrace.store(backtrace, std::memory_order_release);
}

void set_stack_ticks(double ticks_per_us) {
  g_interval_ticks = static_cast<std::uint64_t>(static_cast<double>(g_options.stack_interval_ms) * 1000 * ticks_per_us);
  g_stack_ticks = g_options.stack_us == 0
                      ? ~std::uint64_t{0}
                      : static_cast<std::uint64_t>(static_cast<double>(g_options.stack_us) * ticks_per_us);
}

void forget_stacks() { g_stack_ticks = ~std::uint64_t{0}; }

}  // namespace hostprobe::probe
