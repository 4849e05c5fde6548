// top.cpp: `hostprobe top`.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "cli/commands.h"
#include "cli/job_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/process_id.h"
#include "cli/unrecorded.h"
#include "curses_screen.h"
#include "live/control_link.h"
#include "live/top/live_job.h"
#include "live/top/requests.h"
#include "live/top/view_json.h"
#include "terminal.h"

namespace hostprobe::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kRound{1000};

constexpr char kTopNotes[] =
    "Each rank has a row: its last step, where the time of the last ten seconds went, its last 60 steps, what its "
    "main\n"
    "thread waits in and since when, CPU, ready to run without a CPU (rdy), stopped by a quota (thr). Shared memory "
    "is\n"
    "read each second, and the processes do nothing for it. The causes are the report's own analysis; it runs as often "
    "as\n"
    "0.4 % of a CPU allows, and the line below the rows says how old they are. Keys: ? shows them.\n"
    "Needs the same user as the job, or root. Only processes of this machine are shown.\n"
    "A folder whose name is a number is ./NUMBER.\n"
    "Examples:\n"
    "  hostprobe top RUN                         the screen, until q\n"
    "  hostprobe top 4711                        one process\n"
    "  hostprobe top RUN --once                  one look as text\n"
    "  hostprobe top RUN --json | jq -c '{steps_per_s, hang}'";

struct TopArguments {
  std::string target;
  JobNumber job;
  bool once = false;
  bool json = false;
};

std::uint64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

analysis::WatchTarget target_of(const TopArguments& arguments) {
  if (is_process_id(arguments.target)) {
    if (arguments.job) throw UsageError("top: --job is for a run folder");
    return {.pid = std::stoi(arguments.target)};
  }
  const analysis::ChosenJob chosen = choose_job(arguments.target, arguments.job);
  say_job(chosen);
  return {.run = chosen.path, .job = arguments.job};
}

analysis::LiveJob job_of(const TopArguments& arguments) {
  const analysis::WatchTarget target = target_of(arguments);
  try {
    return analysis::LiveJob(target);
  } catch (const analysis::NotRecorded& error) {
    const std::string why = why_unrecorded(target.pid);
    throw std::runtime_error(why.empty() ? error.what() : why);
  }
}

void require_life(const analysis::LiveView& view, const std::string& target) {
  if (view.has_ended())
    throw std::runtime_error(fmt::format(
        "no process of {} records on this machine now; `hostprobe report {}` says what was", target, target));
}

// Rates want two looks.
int look_once(const TopArguments& arguments) {
  analysis::LiveJob job = job_of(arguments);
  require_life(job.look(), arguments.target);
  std::this_thread::sleep_for(kRound);
  job.await_causes();
  const analysis::LiveView view = job.look();
  job.await_causes();
  if (arguments.json)
    write_json(analysis::view_json(view, realtime_ns(), false));
  else
    write_out(analysis::plain_text(analysis::view_lines(view, {}, {.width = text_width()})));
  return kDone;
}

// A document a second, until the job ends.
int write_documents(analysis::LiveJob& job, const std::string& target) {
  require_life(job.look(), target);
  for (;;) {
    std::this_thread::sleep_for(kRound);
    const analysis::LiveView view = job.look();
    write_json(analysis::view_json(view, realtime_ns(), true));
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write to stdout");
    if (view.has_ended()) return kDone;
  }
}

class Session {
 public:
  explicit Session(analysis::LiveJob& job) : job_(job) {
    for (const FixName& fix : fix_names()) state_.fixes.emplace_back(fix.name);
    state_.fixes.emplace_back("auto");
  }

  // Until q or a signal, whose number it returns; 0: q.
  int show() {
    CursesScreen screen;
    analysis::LiveView view = job_.look();
    for (auto next = steady_clock::now() + kRound;;) {
      screen.show(analysis::view_lines(view, state_, screen.size()));
      const auto left = std::chrono::duration_cast<milliseconds>(next - steady_clock::now());
      const std::optional<int> key = screen.key(std::max(left, milliseconds(0)));
      if (screen.signal() != 0) return screen.signal();
      if (key && !act(analysis::press(state_, view, *key), view)) return 0;
      if (steady_clock::now() < next) continue;
      next = steady_clock::now() + kRound;
      view = job_.look();
    }
  }

 private:
  // False: it is over.
  bool act(const analysis::Request& request, const analysis::LiveView& view) {
    switch (request.wish) {
      case analysis::Wish::kQuit:
        return false;
      case analysis::Wish::kTrigger:
        state_.note = analysis::request_trigger(view).note;
        break;
      case analysis::Wish::kStacks:
        state_.scroll = 0;
        if (const analysis::LiveRank* rank = analysis::chosen_rank(view, state_); rank != nullptr)
          state_.stacks = analysis::stack_lines(rank->pid);
        break;
      case analysis::Wish::kFix:
        change_fix(request, view);
        break;
      case analysis::Wish::kNothing:
        break;
    }
    return true;
  }

  void change_fix(const analysis::Request& request, const analysis::LiveView& view) {
    const analysis::RequestResult result = analysis::request_fix(view, request.fix, request.on);
    state_.note = result.note;
    if (!result.done) return;
    if (request.on)
      state_.fixes_on.insert(request.fix);
    else
      state_.fixes_on.erase(request.fix);
    job_.begin_trial(request.fix, request.on);
  }

  analysis::LiveJob& job_;
  analysis::ViewState state_;
};

int watch(const TopArguments& arguments) {
  analysis::LiveJob job = job_of(arguments);
  int signal = 0;
  if (arguments.json) {
    write_documents(job, arguments.target);
  } else {
    require_life(job.look(), arguments.target);
    signal = Session(job).show();
  }
  // As without a handler, once the terminal is what it was before.
  if (signal != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  // The analysis is not waited for; the ordinary end would take what it works on away.
  if (job.is_busy()) std::quick_exit(std::fflush(stdout) == 0 ? kDone : kCouldNot);
  return kDone;
}

}  // namespace

Command top_command() {
  auto arguments = std::make_shared<TopArguments>();
  const auto run = [arguments](const Words&) {
    const bool has_screen = isatty(STDOUT_FILENO) != 0 && isatty(STDIN_FILENO) != 0;
    const bool once = arguments->once || (!arguments->json && !has_screen);
    return once ? look_once(*arguments) : watch(*arguments);
  };
  return {.name = "top",
          .summary = "Shows what the ranks of a running job do now: steps, causes, waits, CPU.",
          .options = {{.names = "TARGET",
                       .target = &arguments->target,
                       .meaning = "A process id, or the run folder of a job",
                       .required = true},
                      job_option(arguments->job),
                      {.names = "--once", .target = &arguments->once, .meaning = "One look as text, then exit"},
                      {.names = "--json",
                       .target = &arguments->json,
                       .meaning = "A JSON document a line each second until the job ends; with --once one document"}},
          .notes = kTopNotes,
          .run = run};
}

}  // namespace hostprobe::cli
