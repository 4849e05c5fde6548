// json_process.cpp: see json_process.h.
#include "json_process.h"

#include "json_actions.h"
#include "json_chains.h"
#include "json_gpu.h"
#include "json_path.h"
#include "json_python.h"
#include "json_running.h"
#include "json_steps.h"
#include "json_threads.h"
#include "report/losses.h"
#include "report/machine_report.h"

namespace hostprobe::analysis {
namespace {

Json pairs_json(const LaunchPairAnswer& pairs) {
  const auto us = [](const std::optional<double>& ns) { return ns ? Json(1e-3 * *ns) : Json(nullptr); };
  Json json = {
      {"count", pairs.count},
      {"gap_p95_us", us(pairs.p95_ns)},
      {"gap_p99_us", us(pairs.p99_ns)},
      {"switched", or_null(pairs.switched)},
      {"penalty_us", us(pairs.penalty_ns)},
      {"impact_pct", or_null(pairs.impact_pct)},
      {"no_cpu_ms", or_null(pairs.no_cpu_ms)},
      {"no_cpu_pct", or_null(pairs.no_cpu_pct)},
      {"tail_p95_switched_pct", or_null(pairs.tail95_pct)},
      {"tail_p99_switched_pct", or_null(pairs.tail99_pct)},
      {"per_1000_launches",
       {{"context_switches", or_null(pairs.switches_per_1000)}, {"hard_irqs", nullptr}, {"soft_irqs", nullptr}}}};
  if (!pairs.switched) json["not_measured"] = "context switches and interrupts were not recorded";
  return json;
}

Json launches_json(const LaunchAnswer& launches) {
  Json by_function = Json::object();
  for (const auto& [name, calls] : launches.by_function) by_function[name] = calls;
  return {{"count", launches.count()},
          {"kernels", launches.kernels ? Json(*launches.kernels) : Json(nullptr)},
          {"captured", launches.captured},
          {"by_function", by_function},
          {"gap_p50_us", percentile_us(launches.gap, 50)},
          {"gap_p99_us", percentile_us(launches.gap, 99)},
          {"gap_max_us", us_or_null(launches.gap, launches.gap.max_ns())},
          {"gaps", launches.gap.count()},
          {"gaps_unknown", launches.gaps_unknown},
          {"pairs", pairs_json(launches.pairs)},
          {"call_p50_us", percentile_us(launches.call, 50)},
          {"call_p99_us", percentile_us(launches.call, 99)},
          {"call_total_ms", ms_or_null(launches.call, launches.call.total_ns())}};
}

Json syncs_json(const ProcessAnswer& process) {
  const SyncAnswer& syncs = process.syncs;
  Json json = {{"count", syncs.time.count()},
               {"total_ms", syncs.time.total_ns() * 1e-6},
               {"p50_us", percentile_us(syncs.time, 50)},
               {"p99_us", percentile_us(syncs.time, 99)},
               {"max_us", us_or_null(syncs.time, syncs.time.max_ns())},
               {"share_pct", syncs.share_pct},
               {"memory", {{"count", syncs.memory.count}, {"total_ms", syncs.memory.total_ms()}}},
               {"copies", {{"count", syncs.copies.count}, {"total_ms", syncs.copies.total_ms()}}},
               {"by_function", syncs.by_function}};
  if (process.sync_chain.waits > 0) json["chain"] = chain_json(process.sync_chain);
  return json;
}

Json progress_json(const ProgressAnswer& thread) {
  return {{"tid", thread.tid},
          {"comm", thread.communicator.empty() ? Json(nullptr) : Json(thread.communicator)},
          {"name", thread.name},
          {"role", role_name(thread.role)},
          {"polls", thread.poll.count()},
          {"poll_p50_us", percentile_us(thread.poll, 50)},
          {"poll_p99_us", percentile_us(thread.poll, 99)},
          {"poll_max_us", us_or_null(thread.poll, thread.poll.max_ns())},
          {"active_ms", thread.poll.total_ns() * 1e-6},
          {"stalls", thread.stalls},
          {"stall_ms", thread.stall_ms},
          {"migrations", thread.migrations},
          {"cpu_ms", or_null(thread.cpu_ms)},
          {"run_delay_ms", or_null(thread.run_delay_ms)}};
}

Json region_json(const RegionAnswer& region) {
  return {{"name", region.name},
          {"source", region.source},
          {"count", region.time.count()},
          {"total_ms", 1e-6 * region.time.total_ns()},
          {"p50_us", percentile_us(region.time, 50)},
          {"p99_us", percentile_us(region.time, 99)},
          {"max_us", us_or_null(region.time, region.time.max_ns())}};
}

Json lost_by_json(const ProcessAnswer& process) {
  Json json = Json::object();
  for (const LossShare& share : loss_shares(process)) json[share.id] = share.records;
  return json;
}

Json damages_json(const ProcessAnswer& process) {
  Json list = Json::array();
  for (const Damage& damage : process.damages) {
    list.push_back({{"offset", damage.offset}, {"bytes", damage.bytes}, {"what", damage.what}});
  }
  return list;
}

Json imported_json(const ImportAnswer& imported) {
  Json json = {{"in_part", imported.in_part}, {"left_out", Json::array()}};
  for (const LeftOutAnswer& one : imported.left_out) {
    json["left_out"].push_back({{"kind", one.kind}, {"count", one.count}});
    if (one.first_byte) json["left_out"].back()["first_byte"] = *one.first_byte;
  }
  if (imported.is_rank_guessed) json["guessed"].push_back("rank");
  if (imported.is_host_guessed) json["guessed"].push_back("host");
  if (!imported.in_part) return json;
  json["read_bytes"] = imported.read_bytes;
  json["all_bytes"] = imported.all_bytes == 0 ? Json(nullptr) : Json(imported.all_bytes);
  json["read_pct"] = or_null(imported.read_pct());
  json["why"] = imported.why;
  return json;
}

void add_missing_json(const ProcessAnswer& process, Json& json) {
  json["damages"] = damages_json(process);
  if (process.imported) json["imported"] = imported_json(*process.imported);
}

// What there is of it in all; of the steps, of the CPU time, and where it goes.
Json own_cost_json(const ProcessAnswer& process) {
  if (!process.own_cost)
    return {{"steps_pct", nullptr}, {"cpu_pct", nullptr}, {"by_source", nullptr}, {"own_thread_by_source", nullptr}};
  const OwnCost& cost = *process.own_cost;
  return {{"steps_pct", or_null(cost.steps_pct)},
          {"cpu_pct", or_null(process.own_cpu_pct())},
          {"by_source",
           {{"calls_ms", cost.records_ms + cost.quiet_ms},
            {"stacks_ms", cost.slow_ms},
            {"switches_ms", cost.switches_ms},
            {"samples_ms", cost.samples_ms},
            {"own_thread_ms", cost.writer_ms}}},
          {"own_thread_by_source",
           {{"records_ms", cost.writer_for.records_ms},
            {"switches_ms", cost.writer_for.switches_ms},
            {"samples_ms", cost.writer_for.samples_ms}}}};
}

Json scheduler_json(const ProcessAnswer& process) {
  if (!process.scheduler) return nullptr;
  return {{"source", "perf"},
          {"switches", process.scheduler->switches},
          {"lost", process.scheduler->lost},
          {"covered_pct", process.scheduler->covered_pct},
          {"threads_left_out", process.scheduler->threads_left_out}};
}

Json thread_of(const ProcessAnswer& process, const ThreadAnswer& thread) {
  Json json = thread_json(thread);
  add_running(process, thread, json);
  if (Json gil = gil_json(process, thread); !gil.is_null()) json["gil"] = std::move(gil);
  return json;
}

void add_work(const ProcessAnswer& process, Json& json) {
  json["progress"] = process.progress.empty() ? Json(nullptr) : Json::array();
  for (const ProgressAnswer& thread : process.progress) json["progress"].push_back(progress_json(thread));
  if (!process.stacks.empty()) json["stacks"] = stacks_json(process.stacks);
  for (const RegionAnswer& region : process.regions) json["regions"].push_back(region_json(region));
  json["events"] = Json::array();
  for (const ActionAnswer& event : process.actions) json["events"].push_back(action_json(event));
}

}  // namespace

Json process_json(const ProcessAnswer& process) {
  Json json = {{"rank", or_null(process.rank)},
               {"kind", kind_name(process.kind)},
               {"pid", process.pid},
               {"parent_pid", process.parent_pid},
               {"host", process.host},
               {"command", process.command},
               {"task", task_name(process.task)},
               {"end", end_json(process)},
               {"wall_ms", process.wall_ms},
               {"cpu_ms", or_null(process.cpu_ms)},
               {"records", process.records},
               {"lost", process.lost},
               {"unfinished", process.unfinished},
               {"own_cost_pct", or_null(process.own_cost_pct())},
               {"own_cost", own_cost_json(process)},
               {"scheduler", scheduler_json(process)},
               {"threads", Json::array()},
               {"waits", Json::array()}};
  if (process.restart) json["restart"] = *process.restart;
  for (const ThreadAnswer& thread : process.threads) json["threads"].push_back(thread_of(process, thread));
  for (const WaitSite& site : process.waits) json["waits"].push_back(wait_json(site));
  // Without a driver in the process there is nothing that could be launched or waited for: absent, not zero.
  if (process.launches.hooked) json["launches"] = launches_json(process.launches);
  if (process.syncs.hooked) json["syncs"] = syncs_json(process);
  if (process.start_up) json["start_up"] = start_up_json(*process.start_up);
  json["gc"] = gc_json(process);
  if (process.launches.hooked) {
    json["gpu"] = gpu_json(process);
    json["critical_path"] = path_json(process.path);
  }
  add_work(process, json);
  json["skipped"] = process.skipped;
  json["summed_only"] = process.summed_only;
  json["whole_since_s"] = process.whole_since_ms ? Json(1e-3 * *process.whole_since_ms) : Json(nullptr);
  json["trace"] = process.trace_path;
  json["lost_by"] = lost_by_json(process);
  add_machine_json(process, json);
  json["lost_tail_unknown"] = process.tail_gone;
  add_missing_json(process, json);
  return json;
}

}  // namespace hostprobe::analysis
