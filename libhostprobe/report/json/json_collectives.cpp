// json_collectives.cpp: see json_collectives.h.
#include "json_collectives.h"

#include "report/json_numbers.h"

namespace hostprobe::analysis {
namespace {

// Of the GPU where its times are known of any collective of the run: shares of two clocks cannot be added up.
const Histogram& time_of(const CollectiveSize& size, bool on_gpu) { return on_gpu ? size.gpu : size.host; }

bool has_gpu_times(const std::vector<CollectiveAnswer>& collectives) {
  for (const CollectiveAnswer& one : collectives)
    for (const auto& [size, times] : one.sizes)
      if (times.gpu.count() > 0) return true;
  return false;
}

double all_ns(const std::vector<CollectiveAnswer>& collectives, bool on_gpu) {
  double sum = 0;
  for (const CollectiveAnswer& one : collectives)
    for (const auto& [size, times] : one.sizes) sum += time_of(times, on_gpu).total_ns();
  return sum;
}

Json size_json(int number, const CollectiveSize& size, bool on_gpu, double run_ns) {
  const Histogram& time = time_of(size, on_gpu);
  const bool known = number != kSizeUnknown;
  return {{"from_bytes", known ? Json(least_bytes(number)) : Json(nullptr)},
          {"below_bytes", known ? Json(next_least_bytes(number)) : Json(nullptr)},
          {"source", on_gpu ? "gpu" : "host"},
          {"count", time.count()},
          {"avg_us", us_or_null(time, time.mean_ns())},
          {"median_us", percentile_us(time, 50)},
          {"min_us", us_or_null(time, time.min_ns())},
          {"max_us", us_or_null(time, time.max_ns())},
          {"share_pct", run_ns <= 0 || time.count() == 0 ? Json(nullptr) : Json(100 * time.total_ns() / run_ns)},
          {"transfer_p50_us", percentile_us(size.transfer, 50)},
          {"transfer_p99_us", percentile_us(size.transfer, 99)},
          // bytes / ns is GB/s
          {"bus_gb_s", size.bus_bytes <= 0 || size.transfer.total_ns() <= 0
                           ? Json(nullptr)
                           : Json(size.bus_bytes / size.transfer.total_ns())}};
}

Json last_json(const CollectiveAnswer& collective) {
  if (!collective.last_rank) return nullptr;
  return {{"rank", *collective.last_rank},
          {"share_pct", collective.last_share_pct},
          {"beyond_chance", collective.last_beyond_chance},
          {"late_p50_us", percentile_us(collective.last_late, 50)},
          {"late_p99_us", percentile_us(collective.last_late, 99)}};
}

// Nothing was sampled: null.
Json sampled_json(const SampledTimes& sampled) {
  if (sampled.gpu.count() == 0) return nullptr;
  const bool joined = sampled.transfer.count() > 0 && sampled.transfer.total_ns() > 0;
  return {{"source", "sampled"},
          {"count", sampled.gpu.count()},
          {"p50_us", percentile_us(sampled.gpu, 50)},
          {"p99_us", percentile_us(sampled.gpu, 99)},
          {"error_us", 1e-3 * sampled.most_slack_ns / 2},
          {"operations", sampled.transfer.count()},
          {"wait_p50_us", percentile_us(sampled.wait, 50)},
          {"wait_p99_us", percentile_us(sampled.wait, 99)},
          {"transfer_p50_us", percentile_us(sampled.transfer, 50)},
          {"bus_gb_s",
           joined && sampled.bus_bytes > 0 ? Json(sampled.bus_bytes / sampled.transfer.total_ns()) : Json(nullptr)}};
}

Json collective_json(const CollectiveAnswer& collective, bool on_gpu, double run_ns) {
  Json json = {{"comm", collective.communicator.empty() ? Json(nullptr) : Json(collective.communicator)},
               {"ranks", collective.ranks},
               {"op", collective.operation},
               {"count", collective.count},
               {"bytes", collective.is_size_known() ? Json(collective.bytes) : Json(nullptr)},
               {"failed", collective.failed},
               {"partly_seen", collective.partly_seen},
               {"host_p50_us", percentile_us(collective.host, 50)},
               {"host_p99_us", percentile_us(collective.host, 99)},
               {"host_max_us", us_or_null(collective.host, collective.host.max_ns())},
               {"skew_p50_us", percentile_us(collective.skew, 50)},
               {"skew_p99_us", percentile_us(collective.skew, 99)},
               {"skew_max_us", us_or_null(collective.skew, collective.skew.max_ns())},
               {"last", last_json(collective)},
               {"gpu_wait_p50_us", percentile_us(collective.gpu_wait, 50)},
               {"gpu_wait_p99_us", percentile_us(collective.gpu_wait, 99)},
               {"bus_gb_s", or_null(collective.bus_gb_s())},
               {"sampled", sampled_json(collective.sampled)},
               {"sizes", Json::array()}};
  for (const auto& [number, size] : collective.sizes) json["sizes"].push_back(size_json(number, size, on_gpu, run_ns));
  return json;
}

}  // namespace

Json collectives_json(const std::vector<CollectiveAnswer>& collectives) {
  const bool on_gpu = has_gpu_times(collectives);
  const double run_ns = all_ns(collectives, on_gpu);
  Json list = Json::array();
  for (const CollectiveAnswer& one : collectives) list.push_back(collective_json(one, on_gpu, run_ns));
  return list;
}

Json clocks_json(const std::map<std::string, HostClock>& clocks) {
  Json list = Json::array();
  for (const auto& [host, clock] : clocks)
    list.push_back({{"host", host},
                    {"at_ns", clock.at_ns},
                    {"offset_us", 1e-3 * clock.offset_ns},
                    {"drift_ppm", 1e6 * clock.drift},
                    {"error_us", 1e-3 * clock.error_ns},
                    {"moments", clock.moments}});
  return list;
}

}  // namespace hostprobe::analysis
