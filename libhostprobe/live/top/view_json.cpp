// view_json.cpp: see view_json.h.
#include "view_json.h"

#include "answer/run.h"
#include "report/json_text.h"
#include "report/version.h"

namespace hostprobe::analysis {
namespace {

JsonValue text_or_null(const std::string& text) { return text.empty() ? JsonValue(nullptr) : JsonValue(text); }

template <typename T>
JsonValue value_or_null(const std::optional<T>& value) {
  return value ? JsonValue(*value) : JsonValue(nullptr);
}

JsonValue call_json(const std::optional<LiveCall>& call) {
  if (!call) return nullptr;
  return {{"function", call->function}, {"since_s", call->since_s}};
}

JsonValue steps_json(const std::optional<LiveSteps>& steps) {
  if (!steps) return nullptr;
  return {{"count", steps->count},
          {"median_ms", steps->median_ms},
          {"per_s", steps->per_s},
          {"since_s", steps->since_s},
          {"last_ms", steps->last_ms}};
}

JsonValue thread_json(const LiveThread& thread) {
  return {{"tid", thread.tid},
          {"name", thread.name},
          {"role", text_or_null(thread.role)},
          {"in", call_json(thread.in)},
          {"cpu_pct", value_or_null(thread.cpu_pct)},
          {"ready_pct", value_or_null(thread.ready_pct)}};
}

JsonValue rank_json(const LiveRank& rank) {
  JsonValue causes = JsonValue::array(), threads = JsonValue::array();
  for (const CausePart& part : rank.causes) causes.push_back({{"cause", part.cause}, {"ms_per_step", part.ms}});
  for (const LiveThread& thread : rank.threads) threads.push_back(thread_json(thread));
  return {{"rank", value_or_null(rank.rank)},
          {"pid", static_cast<std::int64_t>(rank.pid)},
          {"state", end_name(rank.state)},
          {"restart", value_or_null(rank.restart)},
          {"steps", steps_json(rank.steps)},
          {"causes", std::move(causes)},
          {"in", call_json(rank.in)},
          {"thread_state", text_or_null(rank.thread_state)},
          {"cpu_pct", value_or_null(rank.cpu_pct)},
          {"ready_pct", value_or_null(rank.ready_pct)},
          {"throttled_pct", value_or_null(rank.throttled_pct)},
          {"own_cost_pct", value_or_null(rank.own_cost_pct)},
          {"lost", rank.lost},
          {"threads", std::move(threads)}};
}

JsonValue trial_json(const std::optional<LiveTrial>& trial) {
  if (!trial) return nullptr;
  return {{"fix", trial->fix},
          {"on", trial->on},
          {"for_s", trial->for_s},
          {"before", {{"steps", trial->before_steps}, {"median_ms", trial->before_ms}}},
          {"since", {{"steps", trial->since_steps}, {"median_ms", trial->since_ms}}}};
}

const char* stage_name(AutoStage stage) {
  constexpr const char* kNames[] = {"off", "no_steps", "gathering", "under_way", "over"};
  return kNames[static_cast<unsigned>(stage)];
}

JsonValue auto_json(const std::optional<LiveAuto>& fix_auto) {
  if (!fix_auto) return nullptr;
  const bool has_pairs = fix_auto->pairs > 0;
  const auto measured = [&](double value) { return has_pairs ? JsonValue(value) : JsonValue(nullptr); };
  const auto& interval = fix_auto->interval_pct;
  return {{"stage", stage_name(fix_auto->stage)},
          {"fix", text_or_null(fix_auto->fix)},
          {"decision", text_or_null(fix_auto->decision)},
          {"pairs", fix_auto->pairs},
          {"step_without_ms", measured(fix_auto->without_ms)},
          {"step_with_ms", measured(fix_auto->with_ms)},
          {"gain_pct", measured(fix_auto->gain_pct)},
          {"gain_low_pct", interval ? JsonValue(interval->first) : JsonValue(nullptr)},
          {"gain_high_pct", interval ? JsonValue(interval->second) : JsonValue(nullptr)},
          {"kept", fix_auto->kept}};
}

}  // namespace

std::string view_json(const LiveView& view, std::uint64_t realtime_ns, bool one_line) {
  const LiveRank* stepping = view.stepping();
  JsonValue ranks = JsonValue::array();
  for (const LiveRank& rank : view.ranks) ranks.push_back(rank_json(rank));
  const JsonValue document = {
      {"schema", 1},
      {"hostprobe", {{"version", version()}, {"commit", commit()}}},
      {"at", utc_text(realtime_ns)},
      {"run",
       {{"path", view.path},
        {"command", view.command},
        {"mode", view.mode},
        {"wall_s", value_or_null(view.wall_s)},
        {"ended", view.has_ended()},
        {"ranks_elsewhere", view.elsewhere}}},
      {"steps_per_s", stepping == nullptr ? JsonValue(nullptr) : JsonValue(stepping->steps->per_s)},
      {"median_ms", stepping == nullptr ? JsonValue(nullptr) : JsonValue(stepping->steps->median_ms)},
      {"own_cost_pct", value_or_null(view.own_cost_pct())},
      {"lost", view.lost()},
      {"hang", text_or_null(view.hang)},
      {"causes",
       {{"age_s", value_or_null(view.causes_age_s)},
        {"span_s", view.causes_span_s},
        {"unknown", text_or_null(view.causes_unknown)}}},
      {"trial", trial_json(view.trial)},
      {"auto", auto_json(view.fix_auto)},
      {"top", {{"cpu_pct", view.own_cpu_pct}}},
      {"ranks", std::move(ranks)}};
  return json_text(document, one_line ? kOneLine : 2) + "\n";
}

}  // namespace hostprobe::analysis
