// A thread that writes checkpoints while training goes on, as asynchronous checkpointing does; a checkpoint that is asked
// for while the last one is still being written waits for it.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Checkpoint {
 public:
  explicit Checkpoint(std::string path) : path_(std::move(path)), thread_([this] { work(); }) {}

  ~Checkpoint() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
    remove(path_.c_str());
  }

  void write(const float* values, size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return content_.empty(); });
    content_.assign(values, values + count);
    changed_.notify_all();
  }

  int written() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return content_.empty(); });
    return written_;
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || !content_.empty(); });
      if (content_.empty()) return;
      lock.unlock();
      bool good = save();
      lock.lock();
      if (good) ++written_;
      content_.clear();
      changed_.notify_all();
    }
  }

  bool save() const {
    FILE* file = fopen(path_.c_str(), "wb");
    if (file == nullptr) return false;
    bool good = fwrite(content_.data(), sizeof(float), content_.size(), file) == content_.size();
    return fclose(file) == 0 && good;
  }

  std::string path_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> content_;
  int written_ = 0;
  bool ending_ = false;
  std::thread thread_;
};
