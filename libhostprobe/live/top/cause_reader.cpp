// cause_reader.cpp: see cause_reader.h.
#include "cause_reader.h"

#include <time.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "segment_reading.h"

namespace hostprobe::analysis {
namespace {

constexpr double kCpuShare = 0.004;  // the looks into shared memory have the rest of 0.5 %
constexpr double kLeastPause_s = 2;
constexpr double kRecent_s = 10;

double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

struct CauseReader::State {
  std::mutex mutex;
  bool busy = false;
  std::uint64_t next_ns = 0;
  std::optional<CauseReading> newest;
};

std::uint64_t next_reading_ns(std::uint64_t ended_ns, double cpu_s, double share) {
  return ended_ns + static_cast<std::uint64_t>(1e9 * std::max(kLeastPause_s, cpu_s / share));
}

bool CauseReader::is_due(std::uint64_t now_ns, bool urgent) const {
  if (state_ == nullptr) return true;
  const std::lock_guard lock(state_->mutex);
  return !state_->busy && (urgent || now_ns >= state_->next_ns);
}

void CauseReader::start(Read read) {
  if (state_ == nullptr) state_ = std::make_shared<State>();
  {
    const std::lock_guard lock(state_->mutex);
    state_->busy = true;
  }
  std::thread([state = state_, read = std::move(read)] {
    std::optional<CauseReading> reading;
    const std::uint64_t began_ns = now_monotonic_ns();
    try {
      reading = CauseReading{recent_causes(read(), kRecent_s), began_ns};
    } catch (const std::exception&) {
      // The job may have ended, or its files may have gone; the rows say so.
    }
    const std::lock_guard lock(state->mutex);
    if (reading) state->newest = std::move(reading);
    state->next_ns = next_reading_ns(now_monotonic_ns(), thread_cpu_s(), kCpuShare);
    state->busy = false;
  }).detach();
}

std::optional<CauseReading> CauseReader::newest() const {
  if (state_ == nullptr) return std::nullopt;
  const std::lock_guard lock(state_->mutex);
  return state_->newest;
}

bool CauseReader::is_busy() const {
  if (state_ == nullptr) return false;
  const std::lock_guard lock(state_->mutex);
  return state_->busy;
}

}  // namespace hostprobe::analysis
