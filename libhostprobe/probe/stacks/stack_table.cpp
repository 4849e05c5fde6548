// stack_table.cpp: see stack_table.h.
#include "probe/stacks/stack_table.h"

#include <string.h>

#include "probe/record/chunk.h"
#include "probe/record/strings.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_OF_PROCESS std::atomic<std::uint32_t> g_stacks_added{0};

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) { return (hash ^ word) * 0x100000001b3u + (hash >> 29); }

void fill(StackEntry& entry, const NativeFrames& frames, const std::uint32_t* python, unsigned python_count) {
  entry.native_count = static_cast<std::uint16_t>(frames.count);
  entry.python_count = static_cast<std::uint16_t>(python_count);
  memcpy(entry.native, frames.native, sizeof(std::uint64_t) * frames.count);
  memcpy(entry.python, python, sizeof(std::uint32_t) * python_count);
  std::atomic_ref(entry.ready).store(1, std::memory_order_release);
  g_stacks_added.fetch_add(1, std::memory_order_release);
}

constexpr std::uint32_t kWholeStacks = kStacks / 4, kSampleStacks = kStacks / 2;
HP_OF_PROCESS std::uint32_t g_stacks_of_samples = 0;  // about: what others add meanwhile is counted too

}  // namespace

void name_frames(const PythonFrame* frames, unsigned count, std::uint32_t* names) {
  for (unsigned i = 0; i < count; ++i) names[i] = string_id(frames[i].text, strnlen(frames[i].text, kPythonFrameBytes));
}

std::uint16_t stack_number(const NativeFrames& frames, const std::uint32_t* python, unsigned python_count) {
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

std::uint16_t stack_of_frames(const PythonFrame* frames, unsigned count) {
  if (g_stacks_of_samples >= kSampleStacks) return 0;
  if (g_stacks_of_samples >= kWholeStacks) count = 1;
  std::uint32_t python[kStackPythonFrames];
  name_frames(frames, count, python);
  NativeFrames native{};
  const std::uint32_t before = g_stacks_added.load(std::memory_order_relaxed);
  const std::uint16_t id = stack_number(native, python, count);
  g_stacks_of_samples += g_stacks_added.load(std::memory_order_relaxed) - before;
  return id;
}

}  // namespace hostprobe::probe
