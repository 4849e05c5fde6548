// Locks of the simulated node, on futex calls. Not std::mutex and std::condition_variable: a static condition variable with a
// waiting worker hangs exit(). These have no destructors and no initialisation.
#pragma once
#include <atomic>
#include <cstdint>

namespace simnode {

long futex_wait(std::atomic<uint32_t>& word, uint32_t expected, int64_t until_ns);  // CLOCK_MONOTONIC; <0: no limit
void futex_wake(std::atomic<uint32_t>& word, int how_many);

class Mutex {
 public:
  void lock() {
    uint32_t free = 0;
    if (!state_.compare_exchange_strong(free, 1, std::memory_order_acquire)) lock_slowly();
  }
  void unlock() {
    if (state_.exchange(0, std::memory_order_release) == 2) futex_wake(state_, 1);
  }
  void reset() { state_.store(0, std::memory_order_relaxed); }  // after fork: the holder does not exist any more

 private:
  void lock_slowly();
  std::atomic<uint32_t> state_{0};  // 0 free, 1 held, 2 held and waited for
};

class MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// To be used with the mutex held. A notification costs a system call only when somebody waits.
class Condition {
 public:
  void wait(Mutex& mutex, int64_t until_ns = -1) {
    uint32_t seen = sequence_.load(std::memory_order_relaxed);
    ++waiters_;
    mutex.unlock();
    futex_wait(sequence_, seen, until_ns);
    mutex.lock();
    --waiters_;
  }
  void notify_all() {
    if (waiters_ == 0) return;
    sequence_.fetch_add(1, std::memory_order_relaxed);
    futex_wake(sequence_, INT32_MAX);
  }

 private:
  std::atomic<uint32_t> sequence_{0};
  uint32_t waiters_ = 0;
};

}  // namespace simnode
