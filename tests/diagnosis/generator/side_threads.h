// The threads of a rank that neither launch nor load: one that makes something else for the next step, one that shares a lock with
// the steps, one that does a piece of work for the launching thread while that waits, one that writes checkpoints, a pool that computes.
#pragma once
#include "channel.h"
#include "plan.h"

#include <pthread.h>
#include <semaphore.h>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

// What the host needs to know before it may launch a step; nothing of it goes to a device.
class Producer {
 public:
  Producer(const Plan& plan, int rank);
  ~Producer();
  Content take() { return channel_->take(); }

 private:
  std::unique_ptr<Channel> channel_;
  std::thread thread_;
};

class LockHolder {
 public:
  LockHolder(const Plan& plan, int rank);
  ~LockHolder();
  void trigger() { sem_post(&asked_); }
  void lock();
  void unlock();

 private:
  void work(const Plan& plan, int rank);

  bool read_write_, triggered_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t read_write_lock_ = PTHREAD_RWLOCK_INITIALIZER;
  sem_t asked_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

class Partner {
 public:
  Partner(const Plan& plan, int rank);
  ~Partner();
  void do_one();

 private:
  sem_t asked_, done_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

class Writer {
 public:
  explicit Writer(const Plan& plan);
  ~Writer();
  void write(const std::vector<char>& what);

 private:
  std::unique_ptr<Channel> channel_;
  std::thread thread_;
};

class Burners {
 public:
  Burners(const Plan& plan, int rank);
  ~Burners();

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};
