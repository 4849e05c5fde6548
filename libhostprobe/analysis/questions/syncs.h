// syncs.h: calls in which the program waits for the GPU (stream, event and context synchronise).
//
// Room 3. Fed by process.cpp with the records of blocking hooks of family cuda.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analysis/trace/histogram.h"
#include "analysis/trace/roles.h"
#include "analysis/trace/trace.h"

namespace hostprobe::analysis {

struct SyncAnswer {
  bool hooked = false;
  Histogram time;
  std::map<std::string, std::uint64_t> by_function;
  std::map<Role, double> total_ms_by_role;
};

class Syncs {
 public:
  Syncs(const Trace& trace, const std::map<ThreadKey, Role>& roles);
  void add(const Thread& thread, const Hook& hook, const Record& record);
  void add_sum(const Thread& thread, const Hook& hook, const SiteSum& sum);
  SyncAnswer finish() { return std::move(answer_); }

 private:
  const Trace& trace_;
  const std::map<ThreadKey, Role>& roles_;
  SyncAnswer answer_;
};

}  // namespace hostprobe::analysis
