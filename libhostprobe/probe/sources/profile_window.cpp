// profile_window.cpp: see profile_window.h.
#include "probe/sources/profile_window.h"

#include <stdio.h>
#include <string.h>

#include "probe/hooks/python_shim.h"
#include "probe/record/limits.h"
#include "probe/record/profile_wish.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/sources/profile_script.h"
#include "probe/writer/file/events.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/steps/live_steps.h"
#include "settings/profile_rule.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kAnswerNs = 60'000'000'000;  // the main thread of an interpreter may be in a long call
constexpr std::uint64_t kStepNs = 300'000'000'000;   // no step: an evaluation, or none will come
constexpr std::uint64_t kMiB = 1 << 20;
constexpr double kShortestNs = 5'000'000;  // of a step that is timed: the interpreter comes to a call within some

// Written by the writer while nothing is asked of the interpreter.
HP_OF_PROCESS unsigned g_asked = 0;
HP_OF_PROCESS char g_path[sizeof g_file.path + 24];
HP_OF_PROCESS char g_part[sizeof g_path];
HP_OF_PROCESS WindowState g_seen{};
HP_OF_PROCESS std::uint64_t g_seen_ns = 0;
HP_OF_PROCESS std::uint64_t g_all_bytes = 0;
HP_OF_PROCESS WindowOutcome g_last{};
HP_OF_PROCESS unsigned g_ended = 0, g_done = 0;
HP_OF_PROCESS unsigned g_moments = 0;
HP_OF_PROCESS std::uint64_t g_next_moment_ns = 0;

void name_window() {
  const char* end = strrchr(g_file.path, '.');
  const int stem = static_cast<int>(end == nullptr ? strlen(g_file.path) : static_cast<std::size_t>(end - g_file.path));
  ++g_asked;
  snprintf(g_path, sizeof g_path, "%.*s-%04u.profile.json", stem, g_file.path, g_asked);
  snprintf(g_part, sizeof g_part, "%.*s-%04u.part.json", stem, g_file.path, g_asked);
}

void ask_interpreter() {
  const ProfileWish& wish = profile_wish();
  name_window();
  if (const char* obstacle = python_obstacle()) return refuse_window(WindowState::kWished, obstacle);
  if (!wish.by_person && g_all_bytes >= g_options.dumps_mb * kMiB)
    return refuse_window(WindowState::kWished, "the windows so far take as much disk as HOSTPROBE_DUMPS_MB permits");
  move_window(WindowState::kWished, WindowState::kAsked);
  if (!ask_script(g_path, g_part)) refuse_window(WindowState::kAsked, "the interpreter has too many calls pending");
}

// A rule asks again and again: the same refusal is said once.
void note_outcome() {
  const bool is_new =
      window_outcome().done || profile_wish().by_person || strcmp(window_outcome().text, g_last.text) != 0;
  g_last = window_outcome();
  ++g_ended;
  g_done += g_last.done ? 1 : 0;
  g_all_bytes += g_last.bytes;
  if (is_new) note_event(kEventProfile, g_last.done ? 0 : 1, g_asked, g_last.bytes, g_last.text);
  move_window(WindowState::kEnded, WindowState::kNone);
}

void give_up_late(std::uint64_t now_ns) {
  const WindowState state = window_state();
  if (state != g_seen) {
    g_seen = state;
    g_seen_ns = now_ns;
  }
  const std::uint64_t since_ns = now_ns - g_seen_ns;
  if (state == WindowState::kAsked && since_ns > kAnswerNs)
    return refuse_window(WindowState::kAsked, "the interpreter's main thread did not come to it in 60 s");
  if (state != WindowState::kArmed && state != WindowState::kOpen) return;
  if (since_ns <= kStepNs) return;
  g_seen_ns = now_ns;
  withdraw_script(state == WindowState::kArmed ? "no step ended in 300 s" : "its steps did not end in 300 s");
}

}  // namespace

bool ask_for_window(const char* steps, char* why, std::size_t bytes) {
  std::uint64_t number = 0;
  const char* obstacle = python_obstacle();
  if (!parse_number(steps, 1, kMostProfiledSteps, number))
    snprintf(why, bytes, "a window takes 1 to %llu steps, not '%.20s'",
             static_cast<unsigned long long>(kMostProfiledSteps), steps);
  else if (obstacle != nullptr)
    snprintf(why, bytes, "%s", obstacle);
  else if (!wish_profile(number, "hostprobe ctl", true))
    snprintf(why, bytes,
             "a window is asked for or open already; try again when it has ended (`hostprobe ctl PID status`)");
  else
    return ask_interpreter(), true;
  return false;
}

WindowNews window_news() {
  static constexpr char kNames[][8] = {"none", "asked", "asked", "asked", "armed", "open", "ending"};
  return {kNames[static_cast<unsigned>(window_state())],
          g_done,
          g_ended,
          g_ended != 0 && !g_last.done,
          g_last.text,
          g_path};
}

// Where launches alone tell of steps they are seen up to a quarter of a second late, and by our thread: a window then lasts as long as
// so many steps usually take. `g_moments` counts what the interpreter was asked for.
bool moves_by_time(WindowState state) {
  if (state != WindowState::kArmed && state != WindowState::kOpen) g_moments = 0;
  const bool begins = state == WindowState::kArmed && g_moments == 0;
  const bool goes_on =
      state == WindowState::kOpen && g_moments != 0 && g_moments <= static_cast<unsigned>(WindowMoment::kEnd);
  return (begins || goes_on) && live_source() == LiveSource::kDetected && live_step_median_ns() > 0;
}

std::uint64_t move_by_time(std::uint64_t now_ns) {
  if (!moves_by_time(window_state())) return kNever;
  if (g_moments != 0 && now_ns < g_next_moment_ns) return g_next_moment_ns;
  const double usual_ns = live_step_median_ns(), step_ns = usual_ns < kShortestNs ? kShortestNs : usual_ns;
  const double window_ns = step_ns * static_cast<double>(profile_wish().steps);
  const auto moment = static_cast<WindowMoment>(g_moments);
  if (move_window_by_time(moment, static_cast<std::uint64_t>(window_ns / usual_ns + 0.5),
                          static_cast<std::uint64_t>(usual_ns / 1000)))
    ++g_moments;
  g_next_moment_ns = now_ns + static_cast<std::uint64_t>(moment == WindowMoment::kWarm ? window_ns : step_ns);
  return g_next_moment_ns;
}

// What rings for a wish is the bell, so that the window begins with the next step.
std::uint64_t take_window_wish(const Round& round) {
  if (window_state() == WindowState::kWished) ask_interpreter();
  return move_by_time(round.now_ns);
}

void tend_windows(const Round& round) {
  const WindowState state = window_state();
  if (round.last && state >= WindowState::kWished && state <= WindowState::kOpen)
    refuse_window(state, "the process ended before the window did");
  else if (!round.last)
    give_up_late(round.now_ns);
  if (window_state() == WindowState::kEnded) note_outcome();
}

}  // namespace hostprobe::probe
