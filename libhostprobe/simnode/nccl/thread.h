// Threads and waits as NCCL makes them: pthread_create and pthread_cond_wait up to 2.28, std::thread and
// std::condition_variable from 2.29 on (SIMNODE_NCCL_THREADS=std). Through the PLT on purpose: tools are to see them.
#pragma once
#include <pthread.h>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace simnode::nccl {

class Thread {
 public:
  using Body = void* (*)(void*);
  bool start(Body body, void* argument);
  void join();
  void detach();
  bool started() const { return started_; }

 private:
  bool started_ = false;
  pthread_t posix_{};
  std::thread standard_;
};

// Only with NCCL_SET_THREAD_NAME=1, cut to the 15 characters that fit, as NCCL does.
__attribute__((format(printf, 1, 2))) void name_this_thread(const char* format, ...);

// A mutex with its condition.
class WaitPoint {
 public:
  WaitPoint();
  void lock();
  void unlock();
  void wait();  // with the lock held
  void signal();

 private:
  bool standard_;
  pthread_mutex_t posix_mutex_;
  pthread_cond_t posix_condition_;
  std::mutex mutex_;
  std::condition_variable condition_;
};

// For its life, new threads of this thread run on the CPUs near the device, as during ncclCommInitRank.
class NearDevice {
 public:
  explicit NearDevice(int numa_node);
  ~NearDevice();
  NearDevice(const NearDevice&) = delete;
  NearDevice& operator=(const NearDevice&) = delete;

 private:
  cpu_set_t before_;
  bool changed_ = false;
};

}  // namespace simnode::nccl
