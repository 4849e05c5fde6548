// json_findings.cpp: see json_findings.h.
#include "json_findings.h"

#include "report/advice_text.h"
#include "report/finding_text.h"
#include "report/stuck_text.h"

namespace hostprobe::analysis {
namespace {

// A name that two kinds of evidence have stands for the first.
void add(Json& json, const char* name, Json value) {
  if (json.find(name) == nullptr) json[name] = std::move(value);
}

template <typename Number>
void add_known(Json& json, const char* name, const std::optional<Number>& value) {
  if (value) add(json, name, *value);
}

void add_known(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) add(json, name, text);
}

void add_part(Json&, const std::monostate&) {}
#define HP_EVIDENCE(Name) void add_part(Json& json, const Name##Evidence& seen) {
#define HP_EVIDENCE_END }
#define HP_COUNT(name) add(json, #name, seen.name);
#define HP_REAL(name) add(json, #name, seen.name);
#define HP_TEXT(name) add(json, #name, seen.name);
#define HP_MAYBE_COUNT(name) add_known(json, #name, seen.name);
#define HP_MAYBE_REAL(name) add_known(json, #name, seen.name);
#define HP_MAYBE_TEXT(name) add_known(json, #name, seen.name);
#define HP_PURPOSE(name) add_known(json, #name, waited_for_id(seen.name));
#include "hostprobe/causes.def"

Json finding_json(const RunAnswer& run, const Finding& finding) {
  Json json = {{"cause", cause_id(finding.cause)},
               {"rank", or_null(finding.rank)},
               {"text", finding_text(run, finding)},
               {"share_pct", finding.share_pct},
               {"ms_per_step", or_null(finding.ms_per_step)},
               {"gain_pct", or_null(finding.gain_pct)},
               {"gain_low_pct", or_null(finding.gain_low_pct)},
               {"gain_high_pct", or_null(finding.gain_high_pct)}};
  if (finding.gain_limit != GainLimit::kNone) json["gain_limit"] = gain_limit_id(finding.gain_limit);
  json["share_of"] = finding.share_of();
  if (finding.with_start_up) json["with_start_up"] = true;
  if (!finding.rank && finding.pid != 0) json["pid"] = finding.pid;
  if (finding.fix != Fix::kNone) json["fix"] = {{"name", fix_id(finding.fix)}, {"how", fix_text(finding)}};
  if (finding.site)
    json["site"] = {{"function", finding.site->function},
                    {"library", finding.site->library},
                    {"role", role_name(finding.site->role)},
                    {"stack", finding.site->stack}};
  if (const std::string thread = thread_of(run, finding); !thread.empty()) json["thread"] = thread;
  if (const std::string& awaited = finding.evidence.of<AwaitedEvidence>().awaited; !awaited.empty()) {
    if (finding.cause == Cause::kFileIo) json["file"] = awaited;
    if (finding.cause == Cause::kRemoteWait) json["peer"] = awaited;
  }
  json["evidence"] = evidence_json(finding.evidence);
  return json;
}

}  // namespace

Json evidence_json(const Evidence& evidence) {
  Json json = Json::object();
  for (const Evidence::Part& part : evidence.parts())
    std::visit([&json](const auto& seen) { add_part(json, seen); }, part);
  return json;
}

Json findings_json(const RunAnswer& run) {
  Json json = Json::array();
  for (const Finding& finding : run.findings) json.push_back(finding_json(run, finding));
  return json;
}

Json stuck_json(const StuckCollective& stuck) {
  Json missing = Json::array();
  for (const MissingRank& one : stuck.missing) {
    missing.push_back({{"rank", one.job_rank ? Json(*one.job_rank) : Json(one.rank)},
                       {"sequence", one.sequence},
                       {"doing", one.has_main ? Json(doing_text(one)) : Json(nullptr)}});
    if (!one.stack.empty()) missing.back()["stack"] = one.stack;
  }
  Json json = {{"comm", stuck.communicator}, {"ranks", stuck.ranks},     {"op", stuck.operation},
               {"sequence", stuck.sequence}, {"arrived", stuck.arrived}, {"since_ms", stuck.since_ms},
               {"text", stuck_text(stuck)},  {"missing", missing}};
  if (!stuck.stack.empty()) json["stack"] = stuck.stack;
  return json;
}

}  // namespace hostprobe::analysis
