// steps.h: training steps that the program marked (hostprobe_step, through C or Python).
//
// Room 3. Fed by process.cpp; a mark lives on one thread, so the thread with the most of them speaks for the process.
#pragma once

#include <cstdint>
#include <map>

#include "analysis/trace/histogram.h"
#include "analysis/trace/trace.h"

namespace hostprobe::analysis {

class Steps {
 public:
  explicit Steps(const Trace& trace) : trace_(trace) {}
  static bool is_step(const Hook& hook) { return hook.name == "hostprobe_step"; }
  void add(const Thread& thread, const Record& record);
  void add_sum(const Thread& thread, const SiteSum& sum);
  // From begin to end of a step; empty where nothing was marked.
  Histogram finish() const;

 private:
  const Trace& trace_;
  std::map<ThreadKey, Histogram> threads_;
};

}  // namespace hostprobe::analysis
