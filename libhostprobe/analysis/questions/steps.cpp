// steps.cpp: see steps.h.
#include "steps.h"

namespace hostprobe::analysis {

void Steps::add_step(const Event& event) {
  Histogram& steps = threads_[event.track->key()];
  if (event.distribution != nullptr)
    steps.add(event.distribution->time);
  else
    steps.add(event.duration_ns);
}

void Steps::merge(const Steps& other) {
  for (const auto& [key, steps] : other.threads_) threads_[key].add(steps);
}

Histogram Steps::finish() const {
  Histogram most;
  for (const auto& [key, steps] : threads_)
    if (steps.count() > most.count()) most = steps;
  return most;
}

}  // namespace hostprobe::analysis
