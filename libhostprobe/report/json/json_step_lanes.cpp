// json_step_lanes.cpp: see json_step_lanes.h.
#include "json_step_lanes.h"

#include <cmath>

namespace hostprobe::analysis {
namespace {

const char* kind_name(LaneKind kind) {
  switch (kind) {
    case LaneKind::kRank:
      return "causes";
    case LaneKind::kThread:
      return "thread";
    case LaneKind::kGpu:
      return "gpu";
  }
  return "";
}

const char* work_name(LaneWork work) {
  switch (work) {
    case LaneWork::kNone:
      return "";
    case LaneWork::kCompute:
      return "compute";
    case LaneWork::kTransfer:
      return "communication";
    case LaneWork::kUnknown:
      return "unknown";
  }
  return "";
}

// As exactly as a drawing of the whole step can show.
class Milliseconds {
 public:
  explicit Milliseconds(double whole_ns) : parts_(std::pow(10.0, 4 - std::floor(std::log10(1e-6 * whole_ns)))) {}
  double of(double ns) const { return std::round(1e-6 * ns * parts_) / parts_; }

 private:
  const double parts_;  // of a millisecond
};

Json span_json(const LaneSpan& span, const Milliseconds& ms) {
  Json json = {{"at_ms", ms.of(span.at_ns)}, {"ms", ms.of(span.ns)}};
  if (!span.function.empty()) json["function"] = span.function;
  if (span.cause) json["cause"] = cause_id(*span.cause);
  if (span.work != LaneWork::kNone) json["kind"] = work_name(span.work);
  return json;
}

Json lane_json(const RunAnswer& run, const StepLane& lane, const Milliseconds& ms) {
  const ProcessAnswer* member = run.step_member(lane.member);
  Json json = {{"kind", kind_name(lane.kind)},
               {"rank", member == nullptr ? Json(nullptr) : or_null(member->rank)},
               {"pid", lane.pid},
               {"spans", Json::array()}};
  if (lane.kind == LaneKind::kThread) json["tid"] = lane.tid, json["thread"] = lane.title;
  for (const LaneSpan& span : lane.spans) json["spans"].push_back(span_json(span, ms));
  return json;
}

}  // namespace

Json step_lanes_json(const RunAnswer& run) {
  if (!run.step_time->worst || run.step_time->worst->length_ns <= 0) return nullptr;
  const StepLanes& worst = *run.step_time->worst;
  const Milliseconds ms(worst.length_ns);
  const ProcessAnswer* first = run.step_member(0);
  const bool has_type = first != nullptr && worst.type < first->steps.types.size();
  Json json = {{"number", worst.number},
               {"type", has_type ? Json(first->steps.types[worst.type].name) : Json(nullptr)},
               {"ms", 1e-6 * worst.length_ns},
               {"least_ms", ms.of(worst.least_ns)},
               {"ranks_left_out", worst.ranks_left_out},
               {"lanes", Json::array()},
               {"wakes", Json::array()}};
  for (const StepLane& lane : worst.lanes) json["lanes"].push_back(lane_json(run, lane, ms));
  for (const LaneWake& wake : worst.wakes)
    json["wakes"].push_back({{"at_ms", ms.of(wake.at_ns)}, {"from", wake.from}, {"to", wake.to}});
  return json;
}

}  // namespace hostprobe::analysis
