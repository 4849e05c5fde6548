// path_replay.h: a stretch of a job run once more on its graph, with some classes of time taken out.
//
// Room 3. Waits are results here, not weights: each moment is the latest of what it waited for. Nothing stands at its recorded
// time, so nothing changed gives what was recorded, and taking time out never makes anything later. Only what the end of the
// stretch depends on is looked at, in the order in which one needs the other: two clocks that differ a little do no harm.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "job_graph.h"
#include "replay_cuts.h"
#include "wait_slopes.h"

namespace hostprobe::analysis {

class PathReplay {
 public:
  explicit PathReplay(const JobGraph& job) : PathReplay(job, wait_slopes(job.parts)) {}
  // `slopes` of the job's parts, where they are known already.
  PathReplay(const JobGraph& job, std::vector<WaitSlopes> slopes);

  // What is replayed from now on, since that moment: steps that follow each other, by the ends of each.
  void enter(double begin_ns, std::vector<PathEnds> steps);
  void enter(double begin_ns, const PathEnds& ends) { enter(begin_ns, std::vector<PathEnds>{ends}); }
  using Factors = PathShares;  // 1: as it was, 0: takes no time
  // How long it takes until all have ended. `cuts` are left out besides.
  double run(const Factors& factors, const ReplayCuts& cuts = {});
  // Of what ran last: how long it took until that step had ended.
  double ended_after_ns(std::size_t step) const;

 private:
  enum class Kind : std::uint8_t { kCall, kBegin, kEnd, kArrival };
  struct Item {
    Kind kind;
    std::uint32_t part;
    std::int32_t thread;  // of a call
    std::uint32_t number;
    std::size_t place = 0;  // in values_ and state_
  };
  struct Part {
    std::vector<std::size_t> calls;  // where those of each thread begin
    std::size_t begins = 0, ends = 0;
  };

  const HostThread& thread(std::uint32_t part, std::int32_t number) const {
    return job_.parts[part].host.threads[static_cast<std::size_t>(number)];
  }
  double factor(PathClass one) const { return factors_[static_cast<std::size_t>(one)]; }
  // Of a thread's time between the two moments, since the stretch began.
  double taken(std::uint32_t part, std::int32_t own, double from_ns, double to_ns, PathClass one) const {
    if (to_ns <= from_ns) return 0;
    return (to_ns - from_ns - cuts_->inside_ns(part, own, from_ns, to_ns)) * factor(one);
  }
  double gpu_factor(std::uint32_t part, const ActivityNode& node) const;
  double transfer_factor(std::uint32_t part, const ActivityNode& node) const;
  double lag_ns(std::uint32_t part, const ActivityNode& node) const;
  double posted_ns(const Item& item, const HostCall& call, double begin_ns) const;
  Item placed(Item item) const;
  template <typename OnItem>
  void for_each_need(const Item& item, OnItem on_item) const;
  template <typename OnItem>
  void needs_of_begin(std::uint32_t part, std::int32_t thread, std::size_t call, OnItem on_item) const;
  template <typename OnItem>
  void needs_of_time(std::uint32_t part, std::int32_t thread, double at_ns, OnItem on_item) const;
  double last_sync(const PathEnd& end) const;
  std::ptrdiff_t wait_at(const PathEnd& end) const;
  double end_ns(const PathEnd& end) const;
  bool is_last_sync(const Item& item, const HostCall& call) const;
  double awaited_by_syncs(const Item& item) const;
  void order(const Item& last);

  double call_end(std::uint32_t part, std::int32_t thread, std::size_t call) const;
  double begin_of(std::uint32_t part, std::int32_t thread, std::size_t call) const;
  double time_of(std::uint32_t part, std::int32_t thread, double at_ns) const;
  double end_of(std::uint32_t part, std::uint32_t activity) const;
  double value_of_call(const Item& item) const;
  double value_of_begin(const Item& item) const;
  double value_of_end(const Item& item) const;
  double value_of_arrival(const Item& item) const;

  const JobGraph& job_;
  std::vector<WaitSlopes> slopes_;  // of each part
  std::vector<Part> places_;
  std::size_t arrivals_ = 0;
  std::vector<double> values_;        // as replayed
  std::vector<std::uint32_t> state_;  // of this stretch: 2 × its number, and one more when it has its place in order_
  std::uint32_t stretch_ = 0;
  std::vector<Item> order_, stack_;
  double begin_ns_ = 0;
  std::vector<PathEnds> steps_;
  std::vector<std::vector<double>> last_syncs_ns_;  // of each part, of each step; they rise
  Factors factors_{};
  const ReplayCuts* cuts_ = nullptr;
};

}  // namespace hostprobe::analysis
