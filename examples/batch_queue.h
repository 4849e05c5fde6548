// Batches prepared by loader threads for the training thread, through a queue of bounded length, as data loaders do: a
// slow loader shows as waits of the training thread, a slow training thread as waits of the loaders.
#pragma once
#include <pthread.h>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

using Batch = std::vector<uint32_t>;

class BatchQueue {
 public:
  BatchQueue(size_t capacity, size_t elements, int threads, int steps, double load_us)
      : capacity_(capacity), elements_(elements), steps_(steps), load_us_(load_us) {
    for (int i = 0; i < threads; ++i) loaders_.emplace_back([this] { load(); });
  }

  ~BatchQueue() {
    for (std::thread& loader : loaders_) loader.join();
  }

  // The batch of the given step. Without loader threads it is made here.
  Batch take(int step) {
    if (loaders_.empty()) return make(step);
    std::unique_lock<std::mutex> lock(mutex_);
    filled_.wait(lock, [&] { return !queue_.empty() && queue_.front().first == step; });
    Batch batch = std::move(queue_.front().second);
    queue_.pop_front();
    emptied_.notify_all();
    return batch;
  }

  Batch make(int step) const {
    auto until = std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>(load_us_);
    Batch batch(elements_);
    for (size_t i = 0; i < elements_; ++i)
      batch[i] = static_cast<uint32_t>(i) * 2654435761u + static_cast<uint32_t>(step);
    std::this_thread::sleep_until(until);
    return batch;
  }

 private:
  void load() {
    pthread_setname_np(pthread_self(), "loader");
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      int step = next_++;
      if (step >= steps_) return;
      lock.unlock();
      Batch batch = make(step);
      lock.lock();
      emptied_.wait(lock, [&] { return queue_.size() < capacity_ && delivered_ == step; });
      queue_.emplace_back(step, std::move(batch));
      ++delivered_;
      filled_.notify_all();
      emptied_.notify_all();
    }
  }

  size_t capacity_, elements_;
  int steps_;
  double load_us_;
  std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<std::pair<int, Batch>> queue_;
  int next_ = 0;
  int delivered_ = 0;
  std::vector<std::thread> loaders_;
};
