// json_gpu.cpp: see json_gpu.h.
#include "json_gpu.h"

#include "report/json_numbers.h"

namespace hostprobe::analysis {
namespace {

Json gap_json(const Gap& gap, double start_ns) {
  return {{"at_s", 1e-9 * (gap.begin_ns - start_ns)},
          {"ms", 1e-6 * (gap.end_ns - gap.begin_ns)},
          {"ended_by",
           {{"function", text_or_null(gap.function)},
            {"kernel", text_or_null(gap.kernel)},
            {"tid", gap.tid == 0 ? Json(nullptr) : Json(gap.tid)},
            {"thread", text_or_null(gap.thread)}}}};
}

Json gaps_json(const GapAnswer& gaps, double start_ns) {
  Json longest = Json::array();
  for (const Gap& gap : gaps.longest) longest.push_back(gap_json(gap, start_ns));
  const Histogram& length = gaps.length;
  return {{"count", length.count()},
          {"total_ms", 1e-6 * length.total_ns()},
          {"p50_us", us_or_null(length, length.percentile_ns(50))},
          {"p99_us", us_or_null(length, length.percentile_ns(99))},
          {"max_us", us_or_null(length, length.max_ns())},
          {"longest", longest}};
}

Json kernels_json(const GpuAnswer& gpu) {
  Json list = Json::array();
  for (const KernelByName& row : gpu.by_name) {
    list.push_back({{"name", row.name},
                    {"count", row.time.count()},
                    {"total_ms", 1e-6 * row.time.total_ns()},
                    {"median_us", us_or_null(row.time, row.time.percentile_ns(50))},
                    {"max_us", us_or_null(row.time, row.time.max_ns())}});
  }
  return list;
}

void add_certain_idle(const ProcessAnswer& process, Json& json) {
  if (!process.certain_idle) return;
  json["certain_idle_ms"] = process.certain_idle->ms;
  json["certain_idle"] = {{"source", "calls"}, {"spans", process.certain_idle->spans}};
}

Json queue_json(const std::optional<QueueAnswer>& queue) {
  if (!queue) return nullptr;
  return {{"samples", queue->samples},
          {"empty", queue->empty},
          {"share_pct", queue->share_pct},
          {"low_pct", queue->low_pct},
          {"high_pct", queue->high_pct}};
}

// What ran is not known: samples, or calls alone, tell of it.
Json estimated_json(const ProcessAnswer& process) {
  if (!process.queue && (!process.certain_idle || process.certain_idle->spans == 0)) return nullptr;
  Json json = {{"source", activity_source_name(ActivitySource::kBounds)},
               {"kernels", nullptr},
               {"kernel_ms", nullptr},
               {"busy_ms", nullptr},
               {"idle_in_steps_pct", nullptr}};
  if (process.queue) json["queue"] = queue_json(process.queue);
  add_certain_idle(process, json);
  return json;
}

Json check_json(const GpuCheck& check) {
  return {{"profiles", check.profiles},       {"ms", check.ms},
          {"busy_pct", check.busy_pct},       {"replayed_busy_pct", check.replayed_pct},
          {"unknown_pct", check.unknown_pct}, {"worst_points", check.worst_points}};
}

}  // namespace

Json gpu_json(const ProcessAnswer& process) {
  const GpuAnswer& gpu = process.gpu;
  if (gpu.source == ActivitySource::kNone) return estimated_json(process);
  // Else what was launched is known, and of it the kernels are counted.
  const bool one_by_one = gpu.source != ActivitySource::kBounds;
  Json json = {{"source", activity_source_name(gpu.source)},
               {"kernels", gpu.kernels},
               {"kernel_ms", one_by_one ? Json(gpu.kernel_ms) : Json(nullptr)},
               {"busy_ms", or_null(gpu.busy_ms)},
               {"idle_in_steps_pct", or_null(gpu.idle_in_steps_pct)},
               {"idle_error_pct", gpu.idle_error_pct},
               {"unknown_pct", gpu.unknown_pct},
               {"copies", one_by_one ? Json(gpu.copies) : Json(nullptr)},
               {"fills", one_by_one ? Json(gpu.fills) : Json(nullptr)},
               {"queue", queue_json(process.queue)},
               {"gaps", process.gaps ? gaps_json(*process.gaps, process.start_since_first_ns) : Json(nullptr)},
               {"by_kernel", kernels_json(gpu)}};
  add_certain_idle(process, json);
  for (const DeviceBusy& one : gpu.devices)
    json["devices"].push_back({{"device", one.device}, {"busy_ms", one.busy_ms}});
  if (gpu.check) json["profile_check"] = check_json(*gpu.check);
  return json;
}

}  // namespace hostprobe::analysis
