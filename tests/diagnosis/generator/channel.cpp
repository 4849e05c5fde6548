#include "channel.h"

#include <semaphore.h>
#include <unistd.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>

namespace {

class ConditionChannel : public Channel {
 public:
  explicit ConditionChannel(int capacity) : capacity_(static_cast<size_t>(capacity)) {}

  void put(Content content) override {
    std::unique_lock<std::mutex> lock(mutex_);
    emptied_.wait(lock, [&] { return waiting_.size() < capacity_; });
    waiting_.push_back(std::move(content));
    filled_.notify_one();
  }

  Content take() override {
    std::unique_lock<std::mutex> lock(mutex_);
    filled_.wait(lock, [&] { return !waiting_.empty(); });
    Content content = std::move(waiting_.front());
    waiting_.pop_front();
    emptied_.notify_one();
    return content;
  }

 private:
  size_t capacity_;
  std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<Content> waiting_;
};

class SemaphoreChannel : public Channel {
 public:
  explicit SemaphoreChannel(int capacity) {
    sem_init(&free_, 0, static_cast<unsigned>(capacity));
    sem_init(&filled_, 0, 0);
  }

  void put(Content content) override {
    while (sem_wait(&free_) != 0) continue;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waiting_.push_back(std::move(content));
    }
    sem_post(&filled_);
  }

  Content take() override {
    while (sem_wait(&filled_) != 0) continue;
    std::unique_lock<std::mutex> lock(mutex_);
    Content content = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    sem_post(&free_);
    return content;
  }

 private:
  sem_t free_, filled_;
  std::mutex mutex_;
  std::deque<Content> waiting_;
};

// Addresses go through one pipe, permissions to make another thing come back through the other.
class PipeChannel : public Channel {
 public:
  explicit PipeChannel(int capacity) {
    if (pipe(filled_) != 0 || pipe(free_) != 0) perror("generated program: pipe"), exit(1);
    for (int i = 0; i < capacity; ++i) send(free_[1], nullptr);
  }

  ~PipeChannel() override {
    for (int end : {filled_[0], filled_[1], free_[0], free_[1]}) close(end);
  }

  void put(Content content) override {
    receive(free_[0]);
    send(filled_[1], new Content(std::move(content)));
  }

  Content take() override {
    std::unique_ptr<Content> content(receive(filled_[0]));
    send(free_[1], nullptr);
    return std::move(*content);
  }

 private:
  static void send(int end, Content* what) {
    if (write(end, &what, sizeof what) != sizeof what) perror("generated program: write"), exit(1);
  }
  static Content* receive(int end) {
    Content* what;
    if (read(end, &what, sizeof what) != sizeof what) perror("generated program: read"), exit(1);
    return what;
  }

  int filled_[2], free_[2];
};

}  // namespace

std::unique_ptr<Channel> Channel::make(const std::string& how, int capacity) {
  if (how == "semaphore") return std::make_unique<SemaphoreChannel>(capacity);
  if (how == "pipe") return std::make_unique<PipeChannel>(capacity);
  return std::make_unique<ConditionChannel>(capacity);
}
