// json_path.cpp: see json_path.h.
#include "json_path.h"

namespace hostprobe::analysis {
namespace {

constexpr PathClass kEachClass[] = {PathClass::kCpu, PathClass::kGpuCompute, PathClass::kCommunication,
                                    PathClass::kLaunch};

Json shares_json(const PathShares& shares, double length_ns) {
  Json json = Json::object();
  for (const PathClass one : kEachClass)
    json[path_class_name(one)] = 100 * shares[static_cast<std::size_t>(one)] / length_ns;
  return json;
}

}  // namespace

Json path_shares_json(const PathAnswer& path) { return shares_json(path.share_ns, path.length_ns); }

Json path_json(const std::optional<PathAnswer>& path) {
  if (!path) return nullptr;
  Json gains = Json::object();
  for (const PathClass one : kEachClass) gains[path_class_name(one)] = or_null(path->gain_pct(one));
  return {{"ms", 1e-6 * path->length_ns},
          {"pct", path_shares_json(*path)},
          {"replay_drift_pct", or_null(path->drift_pct())},
          {"gain_without_pct", gains}};
}

Json path_shares_json(const std::optional<RunPath>& path) {
  return path ? path_shares_json(path->path) : Json(nullptr);
}

Json run_path_json(const std::optional<RunPath>& path) {
  if (!path) return nullptr;
  Json json = path_json(path->path);
  json["steps"] = path->steps;
  json["looked_at"] = path->looked_at;
  json["ranks"] = Json::array();
  for (const RankPath& one : path->ranks)
    json["ranks"].push_back(
        {{"rank", or_null(one.rank)}, {"pid", one.pid}, {"pct", shares_json(one.share_ns, path->path.length_ns)}});
  return json;
}

}  // namespace hostprobe::analysis
