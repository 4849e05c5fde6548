#include "side_threads.h"

#include "deed.h"

#include <unistd.h>
#include <chrono>
#include <cstdio>

namespace {

void name_thread(const std::string& name) { pthread_setname_np(pthread_self(), name.c_str()); }

void rest(double us) { std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us)); }

}  // namespace

Producer::Producer(const Plan& plan, int rank) : channel_(Channel::make(plan.hand_over, plan.producer_lead)) {
  thread_ = std::thread([this, &plan, rank] {
    name_thread(plan.producer_name);
    Deeds deeds(plan, "producer", rank);
    for (int step = 0; step < plan.steps; ++step) {
      deeds.perform(step);
      channel_->put(Content(64, static_cast<uint32_t>(step)));
    }
  });
}

Producer::~Producer() { thread_.join(); }

LockHolder::LockHolder(const Plan& plan, int rank)
    : read_write_(plan.lock == "read_write"), triggered_(plan.holder == "triggered") {
  sem_init(&asked_, 0, 0);
  thread_ = std::thread([this, &plan, rank] { work(plan, rank); });
}

LockHolder::~LockHolder() {
  ends_ = true;
  trigger();
  thread_.join();
}

void LockHolder::lock() { read_write_ ? pthread_rwlock_wrlock(&read_write_lock_) : pthread_mutex_lock(&mutex_); }
void LockHolder::unlock() { read_write_ ? pthread_rwlock_unlock(&read_write_lock_) : pthread_mutex_unlock(&mutex_); }

void LockHolder::work(const Plan& plan, int rank) {
  name_thread(plan.holder_name);
  Deeds deeds(plan, "holder", rank);
  for (int round = 0;; ++round) {
    if (triggered_)
      while (sem_wait(&asked_) != 0) continue;
    else
      rest(plan.holder_rest_us);
    if (ends_) return;
    lock();
    deeds.perform(round);
    unlock();
  }
}

Partner::Partner(const Plan& plan, int rank) {
  sem_init(&asked_, 0, 0);
  sem_init(&done_, 0, 0);
  thread_ = std::thread([this, &plan, rank] {
    name_thread(plan.partner_name);
    Deeds deeds(plan, "partner", rank);
    for (;;) {
      while (sem_wait(&asked_) != 0) continue;
      if (ends_) return;
      deeds.perform(0);
      sem_post(&done_);
    }
  });
}

Partner::~Partner() {
  ends_ = true;
  sem_post(&asked_);
  thread_.join();
}

void Partner::do_one() {
  sem_post(&asked_);
  while (sem_wait(&done_) != 0) continue;
}

Writer::Writer(const Plan& plan) : channel_(Channel::make("condition", 1)) {
  thread_ = std::thread([this, &plan] {
    name_thread(plan.writer_name);
    const std::string path = "checkpoint." + std::to_string(getpid());
    for (Content content = channel_->take(); !content.empty(); content = channel_->take()) {
      FILE* file = fopen(path.c_str(), "wb");
      if (file == nullptr) continue;
      fwrite(content.data(), sizeof content[0], content.size(), file);
      fclose(file);
    }
    unlink(path.c_str());
  });
}

Writer::~Writer() {
  channel_->put({});
  thread_.join();
}

void Writer::write(const std::vector<char>& what) {
  const auto* words = reinterpret_cast<const uint32_t*>(what.data());
  channel_->put(Content(words, words + what.size() / sizeof(uint32_t)));
}

Burners::Burners(const Plan& plan, int rank) {
  for (int i = 0; i < plan.burners; ++i)
    threads_.emplace_back([this, &plan, rank] {
      name_thread(plan.burner_name);
      Deeds deeds(plan, "burner", rank);
      for (int round = 0; !ends_; ++round) {
        deeds.perform(round);
        rest(plan.burner_rest_us);
      }
    });
}

Burners::~Burners() {
  ends_ = true;
  for (std::thread& thread : threads_) thread.join();
}
