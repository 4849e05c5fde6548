// steps.cpp: see steps.h.
#include "steps.h"

namespace hostprobe::analysis {

void Steps::add(const Thread& thread, const Record& record) {
  if (is_summed(record)) return;
  threads_[thread.key].add(trace_.clock.span_ns(record.begin_ticks, record.end_ticks));
}

void Steps::add_sum(const Thread& thread, const SiteSum& sum) { sum.time.add_to(threads_[thread.key], trace_.clock); }

Histogram Steps::finish() const {
  Histogram most;
  for (const auto& [key, steps] : threads_)
    if (steps.count() > most.count()) most = steps;
  return most;
}

}  // namespace hostprobe::analysis
