// json_threads.cpp: see json_threads.h.
#include "json_threads.h"

#include "answer/process.h"
#include "json_chains.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

Json places_json(const std::vector<WaitPlace>& places) {
  Json list = Json::array();
  for (const WaitPlace& place : places) {
    list.push_back({{"text", place.text}, {"count", place.count}, {"total_ms", place.total_ms}});
  }
  return list;
}

Json wake_json(const WaitSite& site) {
  Json wakers = Json::object();
  for (const auto& [role, count] : site.wakers) wakers[role_name(role)] = count;
  if (site.unknown_wakers > 0) wakers["unknown"] = site.unknown_wakers;
  Json json = {{"count", site.wake.count()},
               {"total_ms", ms_or_null(site.wake, site.wake.total_ns())},
               {"p50_us", percentile_us(site.wake, 50)},
               {"p99_us", percentile_us(site.wake, 99)},
               {"max_us", us_or_null(site.wake, site.wake.max_ns())},
               {"run_queue_count", site.run_queue.count()},
               {"run_queue_ms", ms_or_null(site.run_queue, site.run_queue.total_ns())},
               {"run_queue_p50_us", percentile_us(site.run_queue, 50)},
               {"run_queue_p99_us", percentile_us(site.run_queue, 99)},
               {"rest_p50_us", percentile_us(site.rest, 50)},
               {"rest_p99_us", percentile_us(site.rest, 99)},
               {"waker_role", site.wakers.empty() ? Json(nullptr) : Json(role_name(site.main_waker()))},
               {"waker_tid", site.waker_threads.empty() ? Json(nullptr) : Json(site.main_waker_thread().tid)},
               {"waker_roles", wakers}};
  for (const auto& [waker, count] : site.kernel_wakers) {
    json["kernel_wakers"].push_back(waker_json(waker));
    json["kernel_wakers"].back()["count"] = count;
  }
  return json;
}

Json open_wait_json(const OpenWaitAnswer& open) {
  Json json = {{"function", open.function},
               {"library", open.library},
               {"python", open.python.empty() ? Json(nullptr) : Json(open.python)},
               {"since_s", 1e-3 * open.ms},
               {"begin_ns", open.begin_ns},
               {"ms", open.ms}};
  return json;
}

}  // namespace

Json end_json(const ProcessAnswer& process) {
  return {{"how", end_name(process.end)},
          {"signal", process.end_signal ? Json(signal_name(*process.end_signal)) : Json(nullptr)},
          {"status", or_null(process.end_status)},
          {"at_s", process.end == EndState::kRunning ? Json(nullptr) : Json(process.end_s)}};
}

Json thread_json(const ThreadAnswer& thread) {
  const ThreadTime& time = thread.time;
  const bool known = time.wall_ms > 0;
  Json json = {{"tid", thread.tid},
               {"name", thread.name},
               {"role", role_name(thread.role)},
               {"wall_ms", known ? Json(time.wall_ms) : Json(nullptr)},
               {"cpu_ms", or_null(time.cpu_ms)},
               {"preempted_ms", or_null(time.preempted_ms)},
               {"run_queue_ms", or_null(time.run_queue_ms)},
               {"wait_ms", time.wait_ms},
               {"unexplained_ms", known ? Json(time.unexplained_ms) : Json(nullptr)},
               {"run_delay_ms", or_null(time.run_delay_ms)},
               {"times_from", !time.run_delay_ms && !time.from_switches ? Json(nullptr)
                              : time.from_switches                      ? Json("switches")
                                                                        : Json("totals")},
               {"migrations", or_null(thread.migrations)},
               {"records", thread.records},
               {"lost", thread.lost}};
  if (thread.open_wait) json["open_wait"] = open_wait_json(*thread.open_wait);
  if (thread.merged > 0) json["merged"] = thread.merged;
  if (thread.unfinished > 0) json["unfinished"] = thread.unfinished;
  if (!thread.type.empty()) json["type"] = thread.type;
  if (!thread.runs.empty()) json["runs"] = thread.runs;
  return json;
}

Json wait_json(const WaitSite& site) {
  Json json = {{"function", site.function},
               {"library", site.library},
               {"role", role_name(site.role)},
               {"count", site.time.count()},
               {"total_ms", site.time.total_ns() * 1e-6},
               {"p50_us", percentile_us(site.time, 50)},
               {"p99_us", percentile_us(site.time, 99)},
               {"max_us", us_or_null(site.time, site.time.max_ns())},
               {"wake", wake_json(site)},
               {"timed_out", site.timed_out},
               {"own_ms", site.own_ms},
               {"share_pct", site.share_pct},
               {"callers", places_json(site.code)}};
  if (site.open > 0) {
    json["open"] = site.open;
    json["open_ms"] = site.open_ms;
  }
  if (const double ms = site.ms_for(WaitPurpose::kGil); ms > 0) json["gil_ms"] = ms;
  if (!site.python.empty()) json["python"] = places_json(site.python);
  if (!site.stack.empty()) json["stack"] = site.stack;
  if (site.chain.waits > 0) json["chain"] = chain_json(site.chain);
  return json;
}

}  // namespace hostprobe::analysis
