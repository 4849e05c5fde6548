// switches.h: when each thread was off its CPU, from the kernel's records of it being put on one and taken off (format/switches.h).
//
// Room 3. Built once per trace. Records may be missing, come twice, or be of threads that the trace does not know: what has only one
// half is left out, and what is asked about a time that no block covers is answered by "not known".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "answer/thread_key.h"
#include "search_hint.h"

namespace hostprobe {
struct SwitchRow;
}

namespace hostprobe::analysis {

struct Trace;

// Times as in event.h.
struct OffCpu {
  double out_ns = 0;
  double in_ns = 0;
  std::uint16_t out_cpu = 0;
  std::uint16_t in_cpu = 0;
  bool runnable = false;  // it was taken off; else it waits
};

// How long, within some time.
struct OffTime {
  double preempted_ns = 0;  // it had work
  double waiting_ns = 0;    // it waits, or was woken and does not run yet
};

class ThreadSwitches {
 public:
  const std::vector<OffCpu>& spans() const { return spans_; }  // by begin; none overlap
  OffTime between(double begin_ns, double end_ns) const;
  // Times that it was taken off, or went to wait.
  std::uint32_t count_between(double begin_ns, double end_ns) const;
  // Times that it was put on another CPU than the one it had been on.
  std::uint32_t migrations_between(double begin_ns, double end_ns) const;

 private:
  friend class Switches;
  std::vector<OffCpu>::const_iterator first_after(double ns) const;
  std::vector<OffCpu> spans_;
  SearchHint last_;
};

class Switches {
 public:
  Switches() = default;
  explicit Switches(const Trace& trace);

  bool any() const { return count_ > 0; }
  std::uint64_t count() const { return count_; }  // of threads put on a CPU
  std::uint64_t lost() const { return lost_; }
  // Where nothing is known of a thread there, although the time is covered, it was not switched: then an empty one.
  const ThreadSwitches* in(const ThreadKey& thread, double begin_ns, double end_ns) const {
    return covers(thread.tid, begin_ns, end_ns) ? &of(thread) : nullptr;
  }
  const ThreadSwitches& of(const ThreadKey& thread) const;
  // All of it lies where records are, none of which was lost.
  bool covers(double begin_ns, double end_ns) const;
  // And that thread was not left out then.
  bool covers(std::uint32_t tid, double begin_ns, double end_ns) const;
  // Which part of it does.
  double covered_part(double begin_ns, double end_ns) const;
  double covered_part(std::uint32_t tid, double begin_ns, double end_ns) const;
  // Threads that were left out for some time, because they switched too often.
  bool leaves_out(std::uint32_t tid) const { return left_out_.contains(tid); }
  std::uint64_t threads_left_out() const { return left_out_.size(); }

 private:
  struct Cover {
    double begin_ns, end_ns;
  };
  void add_covers(const Trace& trace, std::size_t first_block);
  void add_left_out(const Trace& trace, std::size_t first_block);
  double left_out_ns(std::uint32_t tid, double begin_ns, double end_ns) const;
  void add_thread(const Trace& trace, const SwitchRow* first, const SwitchRow* end);

  std::map<ThreadKey, ThreadSwitches> threads_;
  std::vector<Cover> covers_;                             // by begin; none touch
  std::map<std::uint32_t, std::vector<Cover>> left_out_;  // by thread id; the same, without overlaps
  std::uint64_t count_ = 0, lost_ = 0;
};

}  // namespace hostprobe::analysis
