// The input of the steps, made by threads or by processes, each its own batches in turn.
#pragma once
#include "channel.h"
#include "plan.h"

#include <memory>

class Loader {
 public:
  virtual ~Loader() = default;
  virtual Content take(int step) = 0;

  // Before anything else of this process: processes are forked here.
  static std::unique_ptr<Loader> make(const Plan& plan, int rank);
};
