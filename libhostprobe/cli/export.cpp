// export.cpp: `hostprobe export`.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <memory>

#include "commands.h"
#include "export/export_form.h"
#include "export/perfetto/archive.h"
#include "job_option.h"
#include "memory.h"
#include "missing_trace.h"
#include "output.h"
#include "report/text_output.h"
#include "trace/memory_budget.h"

namespace hostprobe::cli {
namespace {

struct ExportArguments {
  std::string run;
  const std::vector<analysis::ExportForm> forms = analysis::export_forms();
  std::vector<std::string> paths = std::vector<std::string>(forms.size());  // of each form; "": it is not asked for
  JobNumber job;
  bool by_step = false;
  std::string steps, ranks;

  bool asks_for(analysis::ExportKind kind) const {
    for (std::size_t i = 0; i < forms.size(); ++i)
      if (forms[i].kind == kind && !paths[i].empty()) return true;
    return false;
  }
};

// What the forms are made with.
struct Facts {
  analysis::RunSteps steps;
  std::optional<std::map<std::string, analysis::TimeSpan>> spans_of_hosts;
  std::map<std::string, analysis::HostClock> clocks;
};

bool is_archive(const analysis::ExportForm& form, const std::string& path) {
  return form.option == analysis::perfetto_form().option && path.ends_with(".tar");
}

// `write` as ExportForm::write, without the request.
template <typename Write>
void write_file(const std::string& path, Write write) {
  analysis::TextOutput output(path);
  const auto problems = write([&output](std::string_view text) { output.write(text); }, progress_on_stderr());
  end_progress();
  for (const std::string& problem : problems) say(problem);
  output.finish();
}

void export_archive(const analysis::ExportRequest& request, const Facts& facts, const std::string& path) {
  const analysis::PerfettoArchive archive(request, facts.clocks, progress_on_stderr());
  end_progress();
  std::string sizes;
  for (const auto& file : archive.files())
    sizes +=
        fmt::format("{}{} {:.1f} MB", sizes.empty() ? "" : ", ", file.name, 1e-6 * static_cast<double>(file.bytes));
  say(fmt::format("{}: {}", path, sizes));
  write_file(path, [&](const auto& sink, const auto& progress) { return archive.write(sink, progress); });
}

void export_into(const analysis::ExportForm& form, const analysis::ExportRequest& request, const Facts& facts,
                 const std::string& path) {
  if (path.empty()) return;
  if (is_archive(form, path)) return export_archive(request, facts, path);
  write_file(path, [&](const auto& sink, const auto& progress) { return form.write(request, sink, progress); });
}

// "--chrome PATH, --perfetto PATH or --csv PATH"
std::string options_text(const std::vector<analysis::ExportForm>& forms) {
  std::string text;
  for (std::size_t i = 0; i < forms.size(); ++i)
    text += fmt::format("{}{} PATH", i == 0 ? "" : i + 1 == forms.size() ? " or " : ", ", forms[i].option);
  return text;
}

// "0-3,17"; one of them where `one` is asked for.
std::vector<std::pair<std::uint64_t, std::uint64_t>> spans_in(const char* option, const std::string& text, bool one) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  const auto number = [](std::string_view digits, std::uint64_t& to) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  for (std::string_view rest = text; !text.empty();) {
    const std::string_view piece = rest.substr(0, rest.find(','));
    const std::size_t dash = std::min(piece.find('-'), piece.size());
    auto& [first, last] = spans.emplace_back();
    const bool is_sound = number(piece.substr(0, dash), first) &&
                          number(dash == piece.size() ? piece : piece.substr(dash + 1), last) && first <= last;
    if (!is_sound || (one && spans.size() > 1))
      throw UsageError(fmt::format("export: {} is {}, and not {}", option, one ? "100-110 or 100" : "0-3,17", text));
    if (piece.size() == rest.size()) break;
    rest.remove_prefix(piece.size() + 1);
  }
  return spans;
}

void keep_ranks(const std::string& ranks, analysis::ChosenJob& run) {
  std::vector<std::pair<int, int>> spans;
  for (const auto& [first, last] : spans_in("--ranks", ranks, false))
    spans.emplace_back(std::min<std::uint64_t>(first, INT_MAX), std::min<std::uint64_t>(last, INT_MAX));
  if (!spans.empty()) run.keep_ranks(spans);
}

// Of each host from the first of these steps of its ranks to the last: what others did meanwhile is written too.
std::map<std::string, analysis::TimeSpan> spans_of_hosts(const analysis::RunAnswer& answer, const std::string& steps) {
  const auto [first, last] = spans_in("--steps", steps, true).front();
  std::map<std::string, analysis::TimeSpan> spans;
  for (const analysis::ProcessAnswer& process : answer.processes)
    for (const analysis::Step& step : process.steps.steps) {
      if (step.number < first || step.number > last) continue;
      const double start_ns = static_cast<double>(process.start_monotonic_ns) - process.start_since_first_ns;
      const auto begin_ns = static_cast<std::int64_t>(start_ns + step.begin_ns),
                 end_ns = static_cast<std::int64_t>(start_ns + step.end_ns);
      const auto [span, is_new] = spans.try_emplace(process.host, analysis::TimeSpan{begin_ns, end_ns});
      span->second = {std::min(span->second.begin_ns, begin_ns), std::max(span->second.end_ns, end_ns)};
    }
  if (spans.empty()) throw std::runtime_error("no rank has a step from " + steps);
  return spans;
}

// Where no form needs any, none: they take a reading of the whole run.
Facts facts_for(const ExportArguments& arguments, const analysis::ChosenJob& run) {
  Facts facts;
  facts.steps.as_frames = arguments.by_step;
  bool are_asked = !arguments.steps.empty() || arguments.asks_for(analysis::ExportKind::kStacks);
  for (std::size_t i = 0; i < arguments.forms.size(); ++i)
    are_asked = are_asked || is_archive(arguments.forms[i], arguments.paths[i]);
  if (!are_asked) return facts;
  const analysis::RunAnswer answer =
      analysis::analyse_run(run, progress_on_stderr(), within_memory(analysis::kMemoryMb));
  for (const analysis::ProcessAnswer& process : answer.processes)
    facts.steps.of_trace[process.trace_path] = process.steps.steps;
  facts.clocks = answer.host_clocks;
  if (!arguments.steps.empty()) facts.spans_of_hosts = spans_of_hosts(answer, arguments.steps);
  return facts;
}

void check(const ExportArguments& arguments) {
  if (std::all_of(arguments.paths.begin(), arguments.paths.end(), [](const std::string& path) { return path.empty(); }))
    throw UsageError("export: say what to make, " + options_text(arguments.forms));
  if (arguments.by_step && !arguments.asks_for(analysis::ExportKind::kStacks))
    throw UsageError("export: --by-step is for stacks");
  if (!arguments.steps.empty() &&
      (arguments.asks_for(analysis::ExportKind::kStacks) || arguments.asks_for(analysis::ExportKind::kWhole)))
    throw UsageError("export: --steps is for timelines");
}

int export_run(const ExportArguments& arguments) {
  check(arguments);
  analysis::ChosenJob chosen = choose_job(arguments.run, arguments.job);
  if (chosen.traces.empty()) throw std::runtime_error(no_trace_text(chosen));
  say_job(chosen);
  const analysis::ChosenJob whole = chosen;
  keep_ranks(arguments.ranks, chosen);
  const Facts facts = facts_for(arguments, chosen);
  const analysis::ExportRequest request{chosen, facts.steps, &whole, facts.spans_of_hosts};
  for (std::size_t i = 0; i < arguments.forms.size(); ++i)
    export_into(arguments.forms[i], request, facts, arguments.paths[i]);
  return kDone;
}

}  // namespace

Command export_command() {
  auto arguments = std::make_shared<ExportArguments>();
  std::vector<Option> options = {run_option(arguments->run), job_option(arguments->job)};
  for (std::size_t i = 0; i < arguments->forms.size(); ++i)
    options.push_back({.names = arguments->forms[i].option,
                       .target = &arguments->paths[i],
                       .meaning = arguments->forms[i].meaning,
                       .value_name = "PATH"});
  options.push_back({.names = "--by-step",
                     .target = &arguments->by_step,
                     .meaning = "With --flamegraph and --speedscope: each step has stacks of its own"});
  options.push_back({.names = "--steps",
                     .target = &arguments->steps,
                     .meaning = "Of a timeline only these steps, and what else ran meanwhile",
                     .value_name = "A-B"});
  options.push_back(
      {.names = "--ranks", .target = &arguments->ranks, .meaning = "Only these ranks", .value_name = "LIST"});
  return {.name = "export",
          .summary = "Writes a run in a form that other tools read.",
          .options = std::move(options),
          .notes =
              "What is at PATH is replaced once the new file is complete; it is compressed where PATH ends in .gz.\n"
              "Examples:\n  hostprobe export RUN --chrome timeline.json.gz\n"
              "  hostprobe export RUN --perfetto timeline.pftrace\n"
              "  hostprobe export RUN --perfetto timeline.tar --steps 100-103 --ranks 0-7,64\n"
              "  hostprobe export RUN --pprof run.pb.gz && go tool pprof -tagroot=rank -http=: run.pb.gz\n"
              "  hostprobe export RUN --flamegraph stacks.txt && flamegraph.pl --countname=ns stacks.txt > stacks.svg\n"
              "  hostprobe export RUN --csv events.csv && hostprobe import -o COPY --csv events.csv",
          .run = [arguments](const Words&) { return export_run(*arguments); }};
}

}  // namespace hostprobe::cli
