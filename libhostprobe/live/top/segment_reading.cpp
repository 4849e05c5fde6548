// segment_reading.cpp: see segment_reading.h.
#include "segment_reading.h"

#include <sys/shm.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace hostprobe::analysis {
namespace {

// std::atomic_ref wants a mutable object although a load does not write; the mapping is read-only.
template <typename T>
T load(const T& field) {
  return std::atomic_ref<T>(const_cast<T&>(field)).load(std::memory_order_acquire);
}

bool holds_threads(const SegmentHeader& header, std::size_t bytes) {
  return header.threads_offset % 64 == 0 && header.threads_offset <= bytes &&
         header.thread_count <= (bytes - header.threads_offset) / sizeof(ThreadEntry);
}

}  // namespace

std::uint64_t now_monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::vector<StepPlace> whole_steps(const StepRing& ring, std::uint32_t count_before, std::uint32_t count_after) {
  if (count_after < count_before || ring.from == 0) return {};  // another source shows the steps now
  // The place of the next step may be half written.
  const std::uint32_t overwritten = count_after < kStepPlaces ? 0 : count_after - kStepPlaces + 1;
  std::vector<StepPlace> steps;
  for (std::uint32_t number = overwritten; number < count_before; ++number)
    steps.push_back(ring.places[number % kStepPlaces]);
  return steps;
}

ShownTrial whole_trial(const ShownTrial& shown) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const std::uint32_t before = load(shown.serial);
    ShownTrial trial;
    std::memcpy(&trial, &shown, sizeof trial);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && load(shown.serial) == before) return trial;
  }
  return {};
}

SegmentReader::SegmentReader(const FileHeader& header) {
  shmid_ds status{};
  if (header.segment_id < 0 || shmctl(header.segment_id, IPC_STAT, &status) != 0 ||
      status.shm_segsz < sizeof(SegmentHeader))
    return;
  void* address = shmat(header.segment_id, nullptr, SHM_RDONLY);
  if (address == reinterpret_cast<void*>(-1)) return;
  const auto* segment = static_cast<const SegmentHeader*>(address);
  const bool is_its = segment->magic == kSegmentMagic && segment->version == kSegmentVersion &&
                      segment->cookie == header.cookie && holds_threads(*segment, status.shm_segsz);
  if (is_its)
    header_ = segment;
  else
    shmdt(address);
}

SegmentReader::~SegmentReader() {
  if (header_ != nullptr) shmdt(header_);
}

void SegmentReader::copy_threads(SegmentReading& reading) const {
  const auto* entries =
      reinterpret_cast<const ThreadEntry*>(reinterpret_cast<const std::byte*>(header_) + header_->threads_offset);
  const std::uint32_t used = load(header_->threads_used);
  for (std::uint32_t i = 0; i < std::min(used, header_->thread_count); ++i) {
    const std::uint32_t state = load(entries[i].state);
    if (state != kThreadLive && state != kThreadEnded && state != kThreadMerged) continue;
    const ThreadEntry entry = entries[i];
    // The entry may have gone to another thread meanwhile.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (load(entries[i].start_ticks) != entry.start_ticks || load(entries[i].tid) != entry.tid) continue;
    if (!entry.merged.holds(load(header_->merges))) continue;
    reading.records += entry.records;
    reading.quiet_calls += entry.quiet_calls;
    reading.skipped += entry.skipped;
    reading.own_ticks += entry.own_ticks;
    reading.lost += entry.lost;
    if (state == kThreadLive) reading.threads.push_back(entry);
  }
}

std::optional<SegmentReading> SegmentReader::read() const {
  if (header_ == nullptr) return std::nullopt;
  SegmentReading reading;
  reading.at_ns = now_monotonic_ns();
  reading.clock = header_->clock;
  reading.process_cpu_ns = load(header_->process_cpu_ns);
  reading.writer_cpu_ns = load(header_->writer_cpu_ns);
  reading.lost = load(header_->lost);
  reading.throttled_ns = load(header_->throttled_ns);
  const std::uint32_t before = load(header_->steps.count);
  StepRing ring;
  std::memcpy(&ring, &header_->steps, sizeof ring);
  std::atomic_thread_fence(std::memory_order_acquire);
  reading.steps = whole_steps(ring, before, load(header_->steps.count));
  reading.step_count = before;
  reading.trial = whole_trial(header_->trial);
  copy_threads(reading);
  return reading;
}

}  // namespace hostprobe::analysis
