// A thread that does small pieces of work for another one, which waits for each: what a piece costs beyond its work is the way of both
// threads back onto a CPU.
#pragma once
#include <pthread.h>
#include <semaphore.h>

#include <thread>

template <typename Work>
class WorkerThread {
 public:
  explicit WorkerThread(Work work) : work_(work) {
    sem_init(&asked_, 0, 0);
    sem_init(&done_, 0, 0);
    thread_ = std::thread([this] { serve(); });
  }

  ~WorkerThread() {
    ends_ = true;
    sem_post(&asked_);
    thread_.join();
    sem_destroy(&asked_);
    sem_destroy(&done_);
  }

  void run() {
    sem_post(&asked_);
    while (sem_wait(&done_) != 0) continue;
  }

 private:
  void serve() {
    pthread_setname_np(pthread_self(), "helper");
    for (;;) {
      while (sem_wait(&asked_) != 0) continue;
      if (ends_) return;
      work_();
      sem_post(&done_);
    }
  }

  Work work_;
  sem_t asked_, done_;
  bool ends_ = false;  // written before the last post
  std::thread thread_;
};
