// view_lines.cpp: see view_lines.h.
#include "view_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "report/columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

// Columns of a row; 0: left out.
struct Widths {
  std::size_t rank = 5, step = 8, bar = 0, curve = 0, in = 0, cpu = 5, ready = 0, throttled = 0;
};

Widths widths_for(std::size_t width) {
  Widths widths;
  if (width >= 72) widths.ready = widths.throttled = 5;
  const std::size_t fixed = 1 + widths.rank + widths.step + widths.cpu + widths.ready + widths.throttled + 3;
  const std::size_t left = width > fixed ? width - fixed : 0;
  if (left < 12) {
    widths.in = left;
    return widths;
  }
  widths.curve = std::min<std::size_t>(60, left * 3 / 10);
  widths.bar = std::min<std::size_t>(40, left * 3 / 10);
  widths.in = left - widths.curve - widths.bar;
  return widths;
}

std::string since_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", 1000 * seconds);
  return seconds < 100 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, seconds));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string pct_text(const std::optional<double>& pct) { return pct ? fmt::format("{:.0f}", *pct) : "-"; }

std::string short_ms(double ms) {
  return ms < 10 ? fmt::format("{:.2f}", ms) : ms < 1000 ? fmt::format("{:.1f}", ms) : fmt::format("{:.0f}", ms);
}

std::string name_of(const LiveRank& rank) {
  return rank.rank ? fmt::format("rank {} ({})", *rank.rank, rank.pid) : fmt::format("process {}", rank.pid);
}

std::string rank_cell(const LiveRank& rank) {
  const std::string who = rank.rank ? std::to_string(*rank.rank) : std::to_string(rank.pid);
  return rank.restart ? fmt::format("{} ×{}", who, *rank.restart + 1) : who;
}

std::string call_text(const std::optional<LiveCall>& call, std::size_t width) {
  if (!call) return "";
  const std::string since = " " + since_text(call->since_s);
  return shortened(printable(call->function), width > since.size() ? width - since.size() : 1) + since;
}

std::string doing_text(const LiveRank& rank, std::size_t width) {
  switch (rank.state) {
    case EndState::kRunning:
      return rank.in ? call_text(rank.in, width) : rank.thread_state;
    case EndState::kEnded:
      return "ended";
    default:
      return "killed";
  }
}

class Screen {
 public:
  Screen(const LiveView& view, const ViewState& state, const ScreenSize& size)
      : view_(view),
        state_(state),
        size_(size),
        widths_(widths_for(size.width)),
        causes_(all_causes(view)),
        letters_(cause_letters(causes_)) {}

  std::vector<ViewLine> lines() {
    add_header();
    add_ranks();
    add_legend();
    const bool has_keys = size_.height > 0;
    add_panel(has_keys ? room(1) : SIZE_MAX);
    if (has_keys) {
      lines_.resize(std::min(lines_.size(), size_.height - 1));
      add_keys();
    }
    return std::move(lines_);
  }

 private:
  // Lines that are left when `kept` are needed at the end.
  std::size_t room(std::size_t kept) const {
    const std::size_t used = lines_.size() + kept;
    return size_.height == 0 ? SIZE_MAX : size_.height > used ? size_.height - used : 0;
  }

  void add(const std::string& text, Look look = Look::kPlain) {
    lines_.push_back({{shortened(text, size_.width), look, 0}});
  }

  // What does not fit in the width goes to the next line.
  void add_wrapped(const std::vector<std::string>& parts, Look look) {
    std::string text;
    for (const std::string& part : parts) {
      if (part.empty()) continue;
      if (!text.empty() && columns(text) + columns(part) + 3 > size_.width) {
        add(text, look);
        text.clear();
      }
      text += (text.empty() ? "" : " · ") + part;
    }
    if (!text.empty()) add(text, look);
  }

  void add_header();
  void add_ranks();
  void add_rank(const LiveRank& rank);
  void add_bar(const LiveRank& rank, double whole_ms, ViewLine& line) const;
  double whole_ms() const;
  void add_legend();
  void add_panel(std::size_t most);
  void add_threads(std::size_t most);
  void add_stacks(std::size_t most);
  void add_fixes(std::size_t most);
  void add_help(std::size_t most);
  void add_keys();

  const LiveView& view_;
  const ViewState& state_;
  const ScreenSize& size_;
  Widths widths_;
  std::vector<CausePart> causes_;
  std::vector<char> letters_;
  std::vector<ViewLine> lines_;
};

std::string trial_text(const LiveTrial& trial) {
  std::string text = fmt::format("fix {} {} for {:.0f} s", trial.fix, trial.on ? "on" : "off", trial.for_s);
  if (trial.before_steps == 0) return text;
  text += fmt::format(": {} ms a step before", short_ms(trial.before_ms));
  if (trial.since_steps == 0) return text + ", none since";
  const double change_pct = trial.before_ms > 0 ? 100 * (trial.since_ms / trial.before_ms - 1) : 0;
  return text +
         fmt::format(", {} since ({:+.1f} %, {} steps)", short_ms(trial.since_ms), change_pct, trial.since_steps);
}

// Parts of a line that may become two.
std::vector<std::string> auto_parts(const LiveAuto& fix_auto) {
  if (fix_auto.stage == AutoStage::kNoSteps) return {"fix auto waits for steps"};
  if (fix_auto.stage == AutoStage::kGathering) return {"fix auto waits for the other ranks"};
  std::vector<std::string> parts = {"fix auto"};
  if (!fix_auto.fix.empty())
    parts[0] += fix_auto.decision.empty() ? " tries " + fix_auto.fix : ": " + fix_auto.fix + " " + fix_auto.decision;
  if (fix_auto.pairs > 0) {
    parts[0] +=
        fmt::format(", {} ms a step without, {} with", short_ms(fix_auto.without_ms), short_ms(fix_auto.with_ms));
    std::string change = fmt::format("{:+.1f} %", -fix_auto.gain_pct);
    if (const auto& gain = fix_auto.interval_pct)
      change += fmt::format(" ({:+.1f} to {:+.1f})", -gain->second, -gain->first);
    parts.push_back(change + " in " + plural(fix_auto.pairs, "pair", "pairs"));
  }
  std::string kept;
  for (const std::string& fix : fix_auto.kept) kept += (kept.empty() ? "kept " : ", ") + fix;
  parts.push_back(kept);
  if (fix_auto.stage == AutoStage::kOver) parts.emplace_back("over");
  return parts;
}

void Screen::add_header() {
  const std::string what = printable(view_.command.empty() ? view_.path : view_.command);
  const std::string wall = view_.wall_s ? clock_text(*view_.wall_s) : "";
  const std::string about = fmt::format(" · {} · {} · {}", view_.mode.empty() ? "no process" : printable(view_.mode),
                                        plural(view_.ranks.size(), "process", "processes"), wall);
  const std::size_t left = size_.width > columns(about) + 15 ? size_.width - columns(about) : 15;
  add(shortened("hostprobe top · " + what, left) + about, Look::kTitle);
  std::vector<std::string> parts;
  if (const LiveRank* rank = view_.stepping(); rank != nullptr) {
    parts.push_back(fmt::format("{:.3g} steps/s", rank->steps->per_s));
    parts.push_back(fmt::format("median {} ms", short_ms(rank->steps->median_ms)));
  } else {
    parts.push_back(view_.steps_are_off ? "no steps: HOSTPROBE_STEPS=off" : "no steps seen yet");
  }
  if (const auto cost = view_.own_cost_pct()) parts.push_back(fmt::format("own cost {:.2f} % of a CPU", *cost));
  parts.push_back(fmt::format("lost {}", grouped(view_.lost())));
  if (view_.elsewhere > 0) parts.push_back(fmt::format("{} more on other hosts", view_.elsewhere));
  if (view_.hang.empty() && !view_.has_ended()) parts.push_back("no hang");
  add_wrapped(parts, Look::kPlain);
  if (!view_.hang.empty()) add("HANG: " + printable(view_.hang), Look::kAlarm);
  if (view_.has_ended()) add("The job has ended: hostprobe report " + printable(view_.path), Look::kAlarm);
  if (view_.trial && !(view_.fix_auto && view_.trial->fix == "auto")) add(trial_text(*view_.trial), Look::kTitle);
  if (view_.fix_auto) add_wrapped(auto_parts(*view_.fix_auto), Look::kTitle);
}

double Screen::whole_ms() const {
  double whole = 0;
  for (const LiveRank& rank : view_.ranks) {
    double ms = 0;
    for (const CausePart& part : rank.causes) ms += part.ms;
    whole = std::max(whole, ms);
  }
  return whole;
}

void Screen::add_bar(const LiveRank& rank, double whole_ms, ViewLine& line) const {
  double ms = 0;
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < causes_.size() && whole_ms > 0; ++i) {
    for (const CausePart& part : rank.causes)
      if (part.cause == causes_[i].cause) ms += part.ms;
    const auto end =
        std::min(widths_.bar, static_cast<std::size_t>(std::lround(static_cast<double>(widths_.bar) * ms / whole_ms)));
    if (end > drawn) line.push_back({std::string(end - drawn, letters_[i]), Look::kCause, static_cast<unsigned>(i)});
    drawn = std::max(drawn, end);
  }
  line.push_back({std::string(widths_.bar - drawn, ' ')});
}

void Screen::add_rank(const LiveRank& rank) {
  const bool chosen = size_.height > 0 && chosen_rank(view_, state_) == &rank;
  const Look look = chosen ? Look::kChosen : rank.state == EndState::kRunning ? Look::kPlain : Look::kFaint;
  ViewLine line;
  const std::string step = rank.steps ? short_ms(rank.steps->last_ms.back()) : "-";
  line.push_back({(chosen ? ">" : " ") + right(rank_cell(rank), widths_.rank) + right(step, widths_.step) + " ", look});
  if (widths_.bar > 0) {
    add_bar(rank, whole_ms(), line);
    line.push_back({" " +
                    left(rank.steps ? curve_text(rank.steps->last_ms, widths_.curve, size_.utf8) : "", widths_.curve) +
                    " "});
  }
  std::string rest = (widths_.in > 0 ? left(doing_text(rank, widths_.in), widths_.in) : "") +
                     right(pct_text(rank.cpu_pct), widths_.cpu);
  if (widths_.ready > 0)
    rest += right(pct_text(rank.ready_pct), widths_.ready) + right(pct_text(rank.throttled_pct), widths_.throttled);
  line.push_back({rest, look});
  lines_.push_back(std::move(line));
}

void Screen::add_ranks() {
  std::string head = " " + right("rank", widths_.rank) + right("step ms", widths_.step) + " ";
  if (widths_.bar > 0) head += left("causes", widths_.bar) + " " + left("last 60 steps", widths_.curve) + " ";
  head += left("main thread is in", widths_.in) + right("CPU%", widths_.cpu);
  if (widths_.ready > 0) head += right("rdy%", widths_.ready) + right("thr%", widths_.throttled);
  add(head, Look::kFaint);
  const std::vector<const LiveRank*> ranks = ordered_ranks(view_, state_);
  // The legend, two lines of threads and the keys stay where there is room for them.
  const std::size_t most =
      size_.height == 0 ? ranks.size() : std::max<std::size_t>(1, room(size_.height >= 16 ? 6 : 2));
  if (ranks.size() <= most) {
    for (const LiveRank* rank : ranks) add_rank(*rank);
    return;
  }
  const std::size_t shown = std::max<std::size_t>(1, most - 1);
  const auto chosen =
      static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), chosen_rank(view_, state_)) - ranks.begin());
  const std::size_t first = std::min(chosen > shown / 2 ? chosen - shown / 2 : 0, ranks.size() - shown);
  for (std::size_t i = first; i < first + shown; ++i) add_rank(*ranks[i]);
  if (most > 1) add(fmt::format("  … {} more", ranks.size() - shown), Look::kFaint);
}

void Screen::add_legend() {
  double all = 0;
  for (const CausePart& cause : causes_) all += cause.ms;
  if (all <= 0) {
    const std::string why = view_.causes_unknown.empty() ? "being read" : "not known: " + view_.causes_unknown;
    add(fmt::format("causes {}", view_.causes_age_s ? why : "being read"), Look::kFaint);
    return;
  }
  const std::string age =
      fmt::format(" ({:.0f} s of steps, {:.0f} s ago)", view_.causes_span_s, view_.causes_age_s.value_or(0));
  ViewLine line;
  std::size_t used = columns(age);
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    const std::string words =
        fmt::format("{}{} {:.0f} %", i == 0 ? "=" : "=", causes_[i].cause, 100 * causes_[i].ms / all);
    const std::string gap = i == 0 ? "" : "  ";
    if (used + gap.size() + 1 + columns(words) > size_.width || 100 * causes_[i].ms / all < 0.5) break;
    line.push_back({gap});
    line.push_back({std::string(1, letters_[i]), Look::kCause, static_cast<unsigned>(i)});
    line.push_back({words});
    used += gap.size() + 1 + columns(words);
  }
  line.push_back({shortened(age, size_.width), Look::kFaint});
  lines_.push_back(std::move(line));
}

void Screen::add_panel(std::size_t most) {
  if (most < 2) return;
  switch (state_.panel) {
    case Panel::kThreads:
      return add_threads(most);
    case Panel::kStacks:
      return add_stacks(most);
    case Panel::kFixes:
      return add_fixes(most);
    case Panel::kHelp:
      return add_help(most);
  }
}

void Screen::add_threads(std::size_t most) {
  const LiveRank* rank = chosen_rank(view_, state_);
  if (rank == nullptr || rank->threads.empty()) return;
  constexpr std::size_t kName = 16, kRole = 13, kPct = 6;
  const std::size_t fixed = kName + kRole + 2 * kPct + 3;
  const std::size_t in = size_.width > fixed + 8 ? size_.width - fixed : 8;
  add(left("threads of " + name_of(*rank), kName + kRole + 1) + right("CPU%", kPct) + right("rdy%", kPct) + "  is in",
      Look::kTitle);
  for (std::size_t i = 0; i < rank->threads.size() && i + 1 < most; ++i) {
    const LiveThread& thread = rank->threads[i];
    add(left(printable(thread.name), kName) + " " + left(thread.role, kRole) + right(pct_text(thread.cpu_pct), kPct) +
        right(pct_text(thread.ready_pct), kPct) + "  " + call_text(thread.in, in));
  }
}

void Screen::add_stacks(std::size_t most) {
  add("stacks (up and down scroll, s closes)", Look::kTitle);
  for (std::size_t i = 0; i + 1 < most && state_.scroll + i < state_.stacks.size(); ++i)
    add(printable(state_.stacks[state_.scroll + i]));
}

void Screen::add_fixes(std::size_t most) {
  add("which fix is to be put in place, or taken back? (any other key: none)", Look::kTitle);
  for (std::size_t i = 0; i < state_.fixes.size() && i + 1 < most; ++i)
    add(fmt::format("  {}  {}{}", static_cast<char>('a' + i), state_.fixes[i],
                    state_.fixes_on.contains(state_.fixes[i]) ? " (on)" : ""));
}

void Screen::add_help(std::size_t most) {
  static constexpr const char* kHelp[] = {
      "up, down  choose a rank: its threads are shown",
      "o         order: by rank, step, cause, CPU",
      "c         order by the next cause",
      "t         every process writes its last seconds out (ctl trigger)",
      "s         stacks of the chosen rank",
      "f         puts a fix in place in all ranks, or takes it back",
      "q         quits; the job goes on",
      "rdy%  ready to run, without a CPU; thr%  stopped by a CPU quota",
      "A bar is as long as the time of the mean step that sits on the rank.",
  };
  for (std::size_t i = 0; i < std::size(kHelp) && i < most; ++i) add(kHelp[i]);
}

void Screen::add_keys() {
  if (lines_.size() + 1 < size_.height) lines_.resize(size_.height - 1);
  if (!state_.note.empty()) return add(printable(state_.note), Look::kTitle);
  const std::string order =
      state_.order == RankOrder::kCause && !state_.cause.empty() ? state_.cause : order_name(state_.order);
  add(fmt::format("q quit  ? help  o order: {}  c cause  t trigger  s stacks  f fix", order), Look::kFaint);
}

}  // namespace

std::vector<char> cause_letters(const std::vector<CausePart>& causes) {
  std::vector<char> letters;
  const auto is_free = [&](char letter) { return std::find(letters.begin(), letters.end(), letter) == letters.end(); };
  for (const CausePart& cause : causes) {
    char letter = 0;
    for (const char c : cause.cause + "abcdefghijklmnopqrstuvwxyz0123456789") {
      const char upper = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      if (std::isalnum(static_cast<unsigned char>(upper)) == 0 || !is_free(upper)) continue;
      letter = upper;
      break;
    }
    letters.push_back(letter == 0 ? '#' : letter);
  }
  return letters;
}

std::string curve_text(const std::vector<double>& last_ms, std::size_t width, bool utf8) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kAscii[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
  if (last_ms.empty() || width == 0) return "";
  std::vector<double> sorted = last_ms;
  std::sort(sorted.begin(), sorted.end());
  const double top = std::min(sorted.back(), 4 * sorted[sorted.size() / 2]);
  const std::size_t groups = std::min(width, last_ms.size());
  std::string text;
  for (std::size_t i = 0; i < groups; ++i) {
    const auto begin = last_ms.begin() + static_cast<std::ptrdiff_t>(i * last_ms.size() / groups);
    const auto end = last_ms.begin() + static_cast<std::ptrdiff_t>((i + 1) * last_ms.size() / groups);
    const double part = top > 0 ? *std::max_element(begin, end) / top : 0;
    const auto level = static_cast<std::size_t>(std::clamp(std::ceil(8 * part) - 1, 0.0, 7.0));
    text += utf8 ? kBlocks[level] : kAscii[level];
  }
  return text;
}

std::vector<ViewLine> view_lines(const LiveView& view, const ViewState& state, const ScreenSize& size) {
  std::vector<ViewLine> lines = Screen(view, state, size).lines();
  if (size.height > 0 && lines.size() > size.height) lines.resize(size.height);
  return lines;
}

std::string plain_text(const std::vector<ViewLine>& lines) {
  std::string text;
  for (const ViewLine& line : lines) {
    std::string whole;
    for (const Span& span : line) whole += span.text;
    whole.erase(whole.find_last_not_of(' ') + 1);
    text += whole + "\n";
  }
  return text;
}

}  // namespace hostprobe::analysis
