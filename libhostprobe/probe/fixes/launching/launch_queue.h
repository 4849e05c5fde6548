// launch_queue.h: kernel launches that the program has called for and the driver has not got yet, in one order for all threads.
//
// Room 2 (probe/). Any number of threads put launches in, one takes them out. One queue and not one for each thread: whatever
// orders two launches of different threads for the program (a mutex, a semaphore, an atomic) orders the two reservations
// below as well, so their places in the queue are in that order, and nobody has to know what it was.
//
//   units of 64 bytes     ….|AAAA|BB|CCC|…          a launch takes one or more
//   submitted ───────────────^        ^── tail      up to `submitted` the driver has them, up to `tail` they are promised
//   ready[unit of A] == position of A + 1           A is whole
//
// Price of putting one in: a compare-and-swap, the copy, one store; no lock, no memory, no system call.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {

struct ParameterLayout;

inline constexpr unsigned kMostAttributes = 4;

// At the begin of its units. The attributes come behind it, then the parameters as they lie in the kernel's memory.
struct QueuedLaunch {
  void* target;  // cuLaunchKernelEx or cuLaunchKernel, or their _ptsz forms, as this copy of the hook has it
  CUfunction function;
  CUcontext context;
  CUstream stream;
  const ParameterLayout* layout;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  std::uint8_t has_config;  // cuLaunchKernelEx
  std::uint8_t attributes;
  std::uint16_t units;

  CUlaunchAttribute* attribute() { return reinterpret_cast<CUlaunchAttribute*>(this + 1); }
  char* parameters() { return reinterpret_cast<char*>(attribute() + attributes); }
};

class LaunchQueue {
 public:
  static constexpr unsigned kUnits = 8192;
  static constexpr unsigned kUnitBytes = 64;
  static constexpr unsigned kMostUnits = 80;  // of one launch

  enum class Reserved { kYes, kClosed, kFull };
  Reserved reserve(unsigned units, std::uint64_t& position);
  QueuedLaunch& at(std::uint64_t position) { return *reinterpret_cast<QueuedLaunch*>(units_[position % kUnits]); }
  void publish(std::uint64_t position) { ready_[position % kUnits].store(position + 1, std::memory_order_release); }

  // What is in it so far is before this position.
  std::uint64_t tail() const { return tail_.load(std::memory_order_acquire) & ~kClosed; }
  bool is_submitted(std::uint64_t position) const { return submitted() >= position; }
  bool is_empty() const { return is_submitted(tail()); }
  // Whether something is promised, for a thread that is about to sleep: what it has stored before is seen by who reserves next.
  bool is_empty_for_sleeper() const { return is_submitted(tail_.load(std::memory_order_seq_cst) & ~kClosed); }

  // The taker's side. nullptr: the next one is promised and not whole yet, or there is none.
  QueuedLaunch* next();
  void submitted_one(const QueuedLaunch& launch) {
    submitted_.store(submitted() + launch.units, std::memory_order_release);
  }

  // Nothing more gets in from now on; what is promised still comes.
  void close() { tail_.fetch_or(kClosed, std::memory_order_acq_rel); }
  void open() { tail_.fetch_and(~kClosed, std::memory_order_acq_rel); }

 private:
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;
  std::uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }

  alignas(64) std::atomic<std::uint64_t> tail_;
  alignas(64) std::atomic<std::uint64_t> submitted_;
  alignas(64) std::atomic<std::uint64_t> ready_[kUnits];
  // Room behind the last, so that a launch that begins there lies in one piece. The units it does not use at the begin of
  // the ring count as its own all the same.
  alignas(64) char units_[kUnits + kMostUnits][kUnitBytes];
};

}  // namespace hostprobe::probe
