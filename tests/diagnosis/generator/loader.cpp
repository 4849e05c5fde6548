#include "loader.h"

#include "deed.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

Content make_batch(const Plan& plan, int step) {
  return Content((static_cast<size_t>(plan.batch_kb) << 10) / sizeof(uint32_t), static_cast<uint32_t>(step));
}

class NoLoader : public Loader {
 public:
  NoLoader(const Plan& plan, int rank) : plan_(plan), deeds_(plan, "loader", rank) {}
  Content take(int step) override {
    deeds_.perform(step);
    return make_batch(plan_, step);
  }

 private:
  const Plan& plan_;
  Deeds deeds_;
};

class LoaderThreads : public Loader {
 public:
  LoaderThreads(const Plan& plan, int rank) : plan_(plan), rank_(rank) {
    const int each = plan.queue > plan.loaders ? plan.queue / plan.loaders : 1;
    for (int i = 0; i < plan.loaders; ++i) channels_.push_back(Channel::make(plan.hand_over, each));
    for (int i = 0; i < plan.loaders; ++i) threads_.emplace_back([this, i] { load(i); });
  }
  ~LoaderThreads() override {
    for (std::thread& thread : threads_) thread.join();
  }
  Content take(int step) override { return channels_[static_cast<size_t>(step % plan_.loaders)]->take(); }

 private:
  void load(int number) {
    pthread_setname_np(pthread_self(), plan_.loader_name.c_str());
    Deeds deeds(plan_, "loader", rank_);
    for (int step = number; step < plan_.steps; step += plan_.loaders) {
      deeds.perform(step);
      channels_[static_cast<size_t>(number)]->put(make_batch(plan_, step));
    }
  }

  const Plan& plan_;
  int rank_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::thread> threads_;
};

// As PyTorch's: numbers go to a worker as its batches are taken, batches come back.
class LoaderProcesses : public Loader {
 public:
  LoaderProcesses(const Plan& plan, int rank) : plan_(plan), rank_(rank) {
    workers_.resize(static_cast<size_t>(plan.loaders));
    for (Worker& worker : workers_) start(worker);
    for (int step = 0; step < plan.queue && step < plan.steps; ++step) order(step);
  }

  ~LoaderProcesses() override {
    for (Worker& worker : workers_) close(worker.orders[1]);
    for (Worker& worker : workers_) waitpid(worker.pid, nullptr, 0);
  }

  Content take(int step) override {
    Content batch = make_batch(plan_, 0);
    read_all(worker_of(step).batches[0], batch.data(), batch.size() * sizeof(uint32_t));
    if (step + plan_.queue < plan_.steps) order(step + plan_.queue);
    return batch;
  }

 private:
  struct Worker {
    pid_t pid = 0;
    int orders[2] = {-1, -1}, batches[2] = {-1, -1};
  };

  Worker& worker_of(int step) { return workers_[static_cast<size_t>(step % plan_.loaders)]; }

  void order(int step) {
    if (write(worker_of(step).orders[1], &step, sizeof step) != sizeof step)
      perror("generated program: a worker is gone"), exit(1);
  }

  void start(Worker& worker) {
    if (pipe(worker.orders) != 0 || pipe(worker.batches) != 0) perror("generated program: pipe"), exit(1);
    worker.pid = fork();
    if (worker.pid == 0) load(worker);
    close(worker.orders[0]);
    close(worker.batches[1]);
    worker.orders[0] = worker.batches[1] = -1;
  }

  [[noreturn]] void load(const Worker& own) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, plan_.loader_name.c_str());
    for (const Worker& other : workers_)
      if (other.orders[1] >= 0) close(other.orders[1]);  // its own too: else it would never see the end
    Deeds deeds(plan_, "loader", rank_);
    for (int step; read(own.orders[0], &step, sizeof step) == sizeof step;) {
      deeds.perform(step);
      const Content batch = make_batch(plan_, step);
      const char* at = reinterpret_cast<const char*>(batch.data());
      for (size_t left = batch.size() * sizeof(uint32_t); left > 0;) {
        const ssize_t written = write(own.batches[1], at, left);
        if (written <= 0) _exit(1);
        at += written, left -= static_cast<size_t>(written);
      }
    }
    _exit(0);
  }

  static void read_all(int end, void* into, size_t bytes) {
    for (auto* at = static_cast<char*>(into); bytes > 0;) {
      const ssize_t got = read(end, at, bytes);
      if (got <= 0) perror("generated program: a worker ended"), exit(1);
      at += got, bytes -= static_cast<size_t>(got);
    }
  }

  const Plan& plan_;
  int rank_;
  std::vector<Worker> workers_;
};

}  // namespace

std::unique_ptr<Loader> Loader::make(const Plan& plan, int rank) {
  if (plan.loader == "threads") return std::make_unique<LoaderThreads>(plan, rank);
  if (plan.loader == "processes") return std::make_unique<LoaderProcesses>(plan, rank);
  return std::make_unique<NoLoader>(plan, rank);
}
