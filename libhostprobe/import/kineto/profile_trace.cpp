// profile_trace.cpp: see profile_trace.h.
#include "profile_trace.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "format/imported.h"
#include "import/input/reading_events.h"
#include "process_trace.h"
#include "profile_origin.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {
namespace {

constexpr std::int64_t kLongestNs = std::int64_t{366} * 24 * 3600 * 1'000'000'000;

// All that is done with spans, whatever they are of.
template <typename Visit>
void visit_spans(Profile& profile, Visit visit) {
  for (auto& [pid, process] : profile.processes()) {
    for (auto& one : process.calls) visit(one.span);
    for (auto& one : process.ranges) visit(one.span);
    for (auto& one : process.steps) visit(one.span);
    for (auto& one : process.collectives) visit(one.span);
    for (auto& one : process.annotated) visit(one.span);
  }
  for (auto& one : profile.activities()) visit(one.span);
}

// Nanoseconds to add to each time, so that it is CLOCK_REALTIME, or, where the file tells no such time, above 0.
std::int64_t base_of(Profile& profile, const ProfileHead& head, LeftOut& left_out) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  visit_spans(profile, [&](const ProfileSpan& span) { least = std::min(least, span.begin_ns); });
  const std::int64_t base = whole_number(head.base_time_ns).value_or(0);
  std::int64_t begin = 0;
  if (!__builtin_add_overflow(base, least, &begin) && begin > 0) return base;
  left_out.add("clocks that cannot be those of a day, replaced");
  return 1'000'000'000 - least;
}

// Of one file: what is more than a year away from the rest is a damaged time.
void drop_far_times(Profile& profile, LeftOut& left_out) {
  std::vector<std::int64_t> begins;
  visit_spans(profile, [&](const ProfileSpan& span) { begins.push_back(span.begin_ns); });
  if (begins.empty()) return;
  const auto middle = begins.begin() + static_cast<std::ptrdiff_t>(begins.size() / 2);
  std::nth_element(begins.begin(), middle, begins.end());
  const auto is_far = [&](const auto& one) {
    const double distance = static_cast<double>(one.span.begin_ns) - static_cast<double>(*middle);
    const bool far = std::abs(distance) > static_cast<double>(kLongestNs) || one.span.duration_ns > kLongestNs;
    if (far) left_out.add_at("events a year or more away from the others", one.span.at);
    return far;
  };
  for (auto& [pid, process] : profile.processes()) {
    std::erase_if(process.calls, is_far);
    std::erase_if(process.ranges, is_far);
    std::erase_if(process.steps, is_far);
    std::erase_if(process.collectives, is_far);
    std::erase_if(process.annotated, is_far);
  }
  std::erase_if(profile.activities(), is_far);
}

RealSpan whole_span(Profile& profile, std::int64_t base_ns) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  const auto add = [&](const ProfileSpan& span) {
    begin = std::min(begin, span.begin_ns);
    end = std::max(end, span.begin_ns + span.duration_ns);
  };
  end = std::numeric_limits<std::int64_t>::min();
  visit_spans(profile, add);
  const std::int64_t first = begin, last = end;
  for (const ProfileSpan& span : profile.watched()) {
    const bool fits = span.begin_ns <= last && span.begin_ns + span.duration_ns >= first &&
                      span.duration_ns <= kLongestNs && span.begin_ns > first - kLongestNs;
    if (fits) add(span);
  }
  begin = std::max(begin, 1 - base_ns);
  return {static_cast<std::uint64_t>(base_ns + begin), static_cast<std::uint64_t>(base_ns + std::max(end, begin + 1))};
}

FileHeader header_of(const ProfileProcess& process, const ProfileHead& head, const ProcessOrigin& origin,
                     const std::string& source, const RealSpan& span, const FileHeader* probed) {
  FileHeader header{};
  header.source = kFromProfile;
  header.pid = process.pid;
  header.rank = origin.rank;
  header.local_rank = probed != nullptr ? probed->local_rank : -1;
  header.world_size =
      static_cast<std::int32_t>(whole_number(head.world_size).value_or(probed != nullptr ? probed->world_size : -1));
  const auto clocks = [&](std::uint64_t ns) {
    return ClockPair{ns, probed != nullptr ? monotonic_ns(*probed, ns) : ns, ns};
  };
  header.start = clocks(span.begin_ns);
  header.last = clocks(span.end_ns);
  set_field(header.mode, "profile");
  set_field(header.host, origin.host);
  set_field(header.program, process.name);
  set_field(header.command, process.name.empty() ? source : process.name);
  if (probed == nullptr) return header;
  std::memcpy(header.host, probed->host, sizeof(header.host));
  std::memcpy(header.boot_id, probed->boot_id, sizeof(header.boot_id));
  return header;
}

// What the probe knows of the same process is better than a guess.
ProcessOrigin known_origin(ProcessOrigin origin, const FileHeader* probed) {
  if (probed == nullptr) return origin;
  origin.is_host_guessed = false;
  if (origin.rank >= 0 && !origin.is_rank_guessed) return origin;
  origin.rank = probed->rank;
  origin.is_rank_guessed = false;
  return origin;
}

bool has_calls(const ProfileProcess* process) { return !process->calls.empty() || !process->collectives.empty(); }

void add_missing(const ProfileReading& reading, const LeftOut& left_out, const ProcessOrigin& origin,
                 const RealSpan& span, TraceWriter& out) {
  EventRow row{};
  row.ticks = span.end_ns;
  if (const std::string guesses = guesses_of(origin); !guesses.empty()) {
    row.kind = kEventGuessed;
    row.number = (origin.is_rank_guessed ? kGuessedRank : 0) | (origin.is_host_guessed ? kGuessedHost : 0);
    set_field(row.text, guesses);
    out.add_event(row);
  }
  add_reading_events(left_out, reading.problem, reading.read_bytes, reading.all_bytes, span.end_ns, out);
}

}  // namespace

ProfileTraces write_profile(Profile& profile, const ProfileReading& reading, const std::string& source,
                            const std::string& run, LeftOut& left_out) {
  const ProfileHead& head = reading.head;
  drop_far_times(profile, left_out);
  std::vector<ProfileProcess*> processes;
  std::vector<std::string> ids;
  for (auto& [pid, process] : profile.processes()) {
    processes.push_back(&process);
    ids.push_back(pid);
  }
  ProfileProcess nobody;  // of a profile of the GPU alone
  if (processes.empty() && !profile.activities().empty()) {
    processes.push_back(&nobody);
    ids.emplace_back();
  }
  if (processes.empty()) return {};
  const std::int64_t base_ns = base_of(profile, head, left_out);
  const RealSpan span = whole_span(profile, base_ns);
  const std::vector<ActivityCause> causes = causes_of(profile.activities(), processes);
  for (const ActivityCause& cause : causes)
    if (cause.call == kNoCall) left_out.add("activities of the GPU whose launch is not in the profile");
  const RunClocks clocks(run);
  const bool is_alone = std::count_if(processes.begin(), processes.end(), has_calls) <= 1;
  ProfileTraces traces;
  for (std::uint32_t i = 0; i < processes.size(); ++i) {
    const ProfileProcess& process = *processes[i];
    const FileHeader* probed = clocks.nearest(process.pid, head.host, span);
    const ProcessOrigin origin = known_origin(origin_of(profile, ids[i], process, head, source, is_alone), probed);
    const bool is_sure = origin.rank >= 0 && !origin.is_rank_guessed;
    TraceWriter out(run, header_of(process, head, origin, source, span, probed));
    write_process({profile, process, i, is_sure ? std::to_string(origin.rank) : "", base_ns}, profile.activities(),
                  causes, out);
    add_missing(reading, left_out, origin, span, out);
    if (traces.note.empty()) traces.note = guesses_of(origin);
    traces.paths.push_back(out.finish());
  }
  return traces;
}

}  // namespace hostprobe::analysis
