// json_python.cpp: see json_python.h.
#include "json_python.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

Json per_step(const ProcessAnswer& process, double ns) {
  const std::size_t steps = process.steps.steps.size();
  return steps == 0 ? Json(nullptr) : Json(1e-6 * ns / static_cast<double>(steps));
}

Json holder_json(const GilHolder& holder) {
  return {{"tid", holder.thread.tid},
          {"role", role_name(holder.role)},
          {"requests", holder.requests},
          {"total_ms", 1e-6 * holder.ns}};
}

}  // namespace

Json gc_json(const ProcessAnswer& process) {
  if (!process.gc) return nullptr;
  Json by_generation = Json::object(), generations = Json::array();
  for (const auto& [generation, time] : process.gc->by_generation) {
    by_generation[std::to_string(generation)] = time.count();
    generations.push_back({{"generation", generation},
                           {"count", time.count()},
                           {"total_ms", 1e-6 * time.total_ns()},
                           {"max_ms", 1e-6 * time.max_ns()}});
  }
  return {{"count", process.gc->time.count()},
          {"total_ms", 1e-6 * process.gc->time.total_ns()},
          {"max_ms", 1e-6 * process.gc->time.max_ns()},
          {"ms_per_step", per_step(process, process.gc->in_steps_ns)},
          {"by_generation", by_generation},
          {"generations", generations}};
}

Json gil_json(const ProcessAnswer& process, const ThreadAnswer& thread) {
  const ThreadKey key{thread.tid, thread.start_ticks};
  const auto found =
      std::find_if(process.gil.begin(), process.gil.end(), [&key](const GilThread& one) { return one.thread == key; });
  if (found == process.gil.end()) return nullptr;
  Json holders = Json::array();
  for (const GilHolder& holder : found->holders) holders.push_back(holder_json(holder));
  return {{"requests", found->requests},
          {"wait_ms", 1e-6 * found->ns},
          {"max_ms", 1e-6 * found->longest_ns},
          {"ms_per_step", per_step(process, found->in_steps_ns)},
          {"holders", holders}};
}

}  // namespace hostprobe::analysis
