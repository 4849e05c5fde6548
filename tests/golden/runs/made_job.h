// made_job.h: jobs of simulated ranks as run folders, the same bytes each time.
//
// The ranks are those of unit/simulated_ranks.h. Here they get trace files, the activities of their GPUs beside them, and more
// kinds of calls, so that the command can be asked about them.
#pragma once

#include <filesystem>

#include "unit/simulated_ranks.h"

namespace hostprobe::analysis {

// Rows of the hook table behind those of simulated_ranks.h.
inline constexpr std::uint16_t kStepMark = 10, kGarbage = 11, kLockWait = 12, kMutex = 13, kModuleLoad = 14, kRead = 15,
                               kReceive = 16, kYield = 17, kSleep = 18, kGraphLaunch = 19, kRange = 20, kMark = 21,
                               kQueueSample = 22, kGpuTime = 23;

// Entries of the stack table, as records name them.
inline constexpr std::uint16_t kTrainStack = 1, kLoaderStack = 2, kLockStack = 3, kPeerStack = 4, kQueueStack = 5;

// Threads of every rank, as simulated_ranks.h numbers them; the file has them behind its process id.
inline constexpr std::uint32_t kMainTid = 100, kHelperTid = 101, kLoaderTid = 102, kProgressTid = 103;

struct JobLook {
  bool has_gpu_times = true;
  bool has_marks = true;
  bool has_launches = true;  // false: as if the program had no GPU
  std::int32_t hosts = 1;    // ranks are spread over them
  std::string mode = "trace";
  std::string command = "python3 train.py --layers 12";
};

class MadeJob : public SimulatedRanks {
 public:
  using SimulatedRanks::all_reduce;
  using SimulatedRanks::message;
  using SimulatedRanks::ranks;
  using SimulatedRanks::step;
  using SimulatedRanks::synchronise;
  using SimulatedRanks::work;

  explicit MadeJob(std::int32_t count, JobLook look = {}) : look_(std::move(look)) { ranks(count); }
  SimulatedRank& rank(std::size_t number) { return ranks_[number]; }
  std::size_t size() const { return ranks_.size(); }
  // Steps of `kernels` of 20 µs on each rank and an AllReduce, with what `plant` does before them.
  template <typename Plant>
  void steps(std::uint64_t count, int kernels, Plant plant) {
    for (std::uint64_t i = 0; i < count; ++i)
      step(i, [&] {
        plant(i);
        for (SimulatedRank& one : ranks_)
          for (int kernel = 0; kernel < kernels; ++kernel) one.compute(20);
        all_reduce(30);
        synchronise();
      });
  }
  void write(const std::filesystem::path& run) const;

 private:
  void TestBody() override {}

  JobLook look_;
};

// What the rank's main thread does next, for `us`: it waits in a call, from the code at `site`.
struct Waiting {
  std::uint16_t hook = kSemaphore;
  double us = 0;
  std::uint64_t site = kLibrary + 1;
  std::uint16_t stack = 0;
  std::uint32_t waker = 0;  // who posts 1 µs before the end
  std::uint16_t flags = 0;
};
void wait(SimulatedRank& rank, const Waiting& waiting);
void collect_garbage(SimulatedRank& rank, double us, std::uint64_t generation);
// A call of the driver that takes so long.
void call_driver(SimulatedRank& rank, std::uint16_t hook, double us);

}  // namespace hostprobe::analysis
