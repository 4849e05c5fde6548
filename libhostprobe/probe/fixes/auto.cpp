// auto.cpp: see auto.h. Two parts that know each other through the job's file alone: the member, in every rank, which obeys orders and
// measures, and the leader, in one of them, which gives orders and judges (trial.h).
#include "probe/fixes/auto.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <atomic>

#include "probe/fixes/fix_table.h"
#include "probe/fixes/trial/job_file.h"
#include "probe/fixes/trial/shown_trial.h"
#include "probe/fixes/trial/trial.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/file/events.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/steps/live_steps.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kMostFixes = 16;
constexpr std::uint64_t kStepsFirst = 8;                     // before anything is tried
constexpr std::uint64_t kSayNothingNs = 60'000'000'000;      // without steps
constexpr std::uint64_t kSayMissingNs = 15'000'000'000;      // without the other ranks
constexpr std::uint64_t kMostTakingHoldNs = 10'000'000'000;  // for a fix to be on, or off

using Stage = AutoStage;

// What this rank does, in whatever rank.
struct Member {
  std::uint32_t order;  // the latest that was taken up
  std::uint32_t measuring;
  bool pending;  // its fix is not on, or off, yet
  std::uint64_t since_ns;
  const Fix* trying;  // on and off in turns at the moment
  StepWindow window;
  const Fix* kept[kMostFixes];
  unsigned kept_count;
};

struct KeptFix {
  const Fix* fix;
  double limit_ns;
};

struct Leader {
  unsigned candidate;
  const Fix* fix;        // under trial; null: none
  const Fix* last;       // under trial, or the last one that was
  const char* decision;  // about it; "": none yet
  Trial trial;
  Gain gain;     // of its pairs so far
  bool settles;  // an order to settle is under way
  bool watches;
  KeptFix kept[kMostFixes];
  unsigned kept_count;
  HarmWatch watch;
};

HP_KEPT_BY_CHILDREN std::uint64_t g_job = 0;
HP_OF_PROCESS std::atomic<bool> g_wanted{false};
HP_OF_PROCESS char g_names[sizeof g_options.fix];
HP_OF_PROCESS Stage g_stage{};
HP_OF_PROCESS std::uint64_t g_since_ns = 0;
HP_OF_PROCESS bool g_said = false;  // that steps, or ranks, are missing
HP_OF_PROCESS JobFile g_job_file{};
HP_OF_PROCESS Member g_member{};
HP_OF_PROCESS Leader g_leader{};

void note(bool on, const char* format, ...) __attribute__((format(printf, 2, 3)));
void note(bool on, const char* format, ...) {
  char text[sizeof(EventRow::text)];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  note_event(kEventFix, 0, on ? 1 : 0, 0, text);
}

// ---- the member ----

void forget_kept(const Fix* fix) {
  Member& m = g_member;
  unsigned left = 0;
  for (unsigned i = 0; i < m.kept_count; ++i)
    if (m.kept[i] != fix) m.kept[left++] = m.kept[i];
  m.kept_count = left;
}

// As it was before; what it does then it notes itself.
void put(const Fix* fix, bool on) {
  fix->want(on);
  fix->tend(false);
}

// The trial that is under way is no longer: nothing of it stays.
void drop_trial() {
  mute_fix(nullptr);
  if (g_member.trying != nullptr) put(g_member.trying, false);
  g_member.trying = nullptr;
  g_member.pending = false;
  g_member.measuring = 0;
}

void take_back_kept() {
  for (unsigned i = 0; i < g_member.kept_count; ++i) put(g_member.kept[i], false);
  g_member.kept_count = 0;
}

void refuse(std::uint32_t order) {
  g_member.pending = false;
  __atomic_store_n(&g_job_file.own().refused, order, __ATOMIC_RELEASE);
}

void take_up(const JobOrder& order, std::uint64_t now_ns) {
  Member& m = g_member;
  m.measuring = 0;
  m.pending = true;
  m.since_ns = now_ns;
  if (order.kind == kOrderOver) {
    drop_trial();
    take_back_kept();
    g_stage = Stage::kOver;
    return;
  }
  const Fix* fix = order.kind == kOrderWatch ? nullptr : fix_named(order.fix);
  if (order.kind == kOrderWatch) return;
  if (fix == nullptr) return refuse(order.number);
  if (order.kind == kOrderSettle) {
    mute_fix(nullptr);
    m.trying = nullptr;
    forget_kept(fix);
    if (order.on != 0 && m.kept_count < kMostFixes) m.kept[m.kept_count++] = fix;
  } else {
    m.trying = fix;
  }
  put(fix, order.on != 0);
}

// Whether what the order wants is so by now.
void see_it_done(const JobOrder& order, std::uint64_t now_ns) {
  const Fix* fix = order.kind == kOrderWatch ? nullptr : fix_named(order.fix);
  const FixState state = fix == nullptr ? FixState::kOn : fix->state();
  const bool stands = state == FixState::kStandsBack || state == FixState::kRefused;
  const bool done = fix == nullptr || (order.on != 0 ? state == FixState::kOn : state == FixState::kOff || stands);
  const bool too_late = now_ns > g_member.since_ns + kMostTakingHoldNs;
  if (!done && !too_late && !(order.on != 0 && stands)) return;
  // Settled is settled: nobody waits for a fix that does not come off.
  if (!done && order.kind != kOrderSettle) return refuse(order.number);
  g_member.pending = false;
  // From its second time on what it says is what it said.
  if (order.kind == kOrderTry && order.on != 0) mute_fix(fix->name);
  __atomic_store_n(&g_job_file.own().obeyed, order.number, __ATOMIC_RELEASE);
}

void measure(std::uint32_t go, double now_ns) {
  Member& m = g_member;
  if (go == m.order && m.measuring != go && g_job_file.own().measured != go) {
    m.measuring = go;
    m.window.begin(now_ns);
  }
  if (m.measuring == 0 || !m.window.is_full()) return;
  g_job_file.own().mean_ns = m.window.mean_ns();
  m.measuring = 0;
  __atomic_store_n(&g_job_file.own().measured, go, __ATOMIC_RELEASE);
}

void tend_member(std::uint64_t now_ns) {
  const JobOrder& order = g_job_file.order();
  const std::uint32_t number = __atomic_load_n(&order.number, __ATOMIC_ACQUIRE);
  if (number != g_member.order) {
    g_member.order = number;
    take_up(order, now_ns);
  }
  if (g_stage != Stage::kUnderWay) return;
  if (g_member.pending) see_it_done(order, now_ns);
  measure(__atomic_load_n(&order.go, __ATOMIC_ACQUIRE), static_cast<double>(read_clock_pair().monotonic_ns));
}

// ---- the leader ----

bool all_say(std::uint32_t JobMember::*word, std::uint32_t number) {
  for (int rank = 0; rank < g_job_file.world(); ++rank)
    if (__atomic_load_n(&(g_job_file.member(rank).*word), __ATOMIC_ACQUIRE) != number) return false;
  return true;
}

bool anybody_says(std::uint32_t JobMember::*word, std::uint32_t number) {
  for (int rank = 0; rank < g_job_file.world(); ++rank)
    if (__atomic_load_n(&(g_job_file.member(rank).*word), __ATOMIC_ACQUIRE) == number) return true;
  return false;
}

// Of a step in the window: a job is as fast as its slowest rank.
double slowest_ns() {
  double most = 0;
  for (int rank = 0; rank < g_job_file.world(); ++rank) {
    const double one = g_job_file.member(rank).mean_ns;
    most = one > most ? one : most;
  }
  return most;
}

void note_trial(const Fix* fix, Verdict verdict) {
  char text[sizeof(EventRow::text)];
  write_trial(fix->name, verdict, g_leader.trial, text, sizeof text);
  note_event(kEventFix, 0, verdict == Verdict::kKeep ? 1 : 0, 0, text);
  g_leader.decision = verdict_name(verdict);
}

void settle(Verdict verdict) {
  Leader& leader = g_leader;
  const bool keep = verdict == Verdict::kKeep;
  if (keep && leader.kept_count < kMostFixes) {
    leader.kept[leader.kept_count++] = {leader.fix, leader.trial.usual_most_ns()};
    leader.watch = {leader.trial.usual_most_ns(), 0};
  }
  g_job_file.give(kOrderSettle, leader.fix->name, keep);
  leader.settles = true;
  leader.fix = nullptr;
}

bool is_candidate(const Fix* fix) {
  if (g_names[0] == 0) return true;
  char list[sizeof g_names];
  memcpy(list, g_names, sizeof list);
  char* rest = nullptr;
  for (char* name = strtok_r(list, ", ", &rest); name != nullptr; name = strtok_r(nullptr, ", ", &rest))
    if (same(name, fix->name)) return true;
  return false;
}

// The next fix, or else the watch over those that were kept.
void begin_next() {
  Leader& leader = g_leader;
  for (const Fix* fix = nullptr; (fix = fix_at(leader.candidate)) != nullptr;) {
    ++leader.candidate;
    if (!is_candidate(fix)) continue;
    if (fix->state() != FixState::kOff) {
      note(true, "auto: %s is on already, or wanted: it is not tried", fix->name);
      continue;
    }
    leader.fix = leader.last = fix;
    leader.decision = "";
    leader.gain = {};
    leader.trial.begin(ticks());
    return g_job_file.give(kOrderTry, fix->name, leader.trial.next_is_on());
  }
  leader.watches = leader.kept_count > 0;
  if (leader.watches)
    g_job_file.give(kOrderWatch, "", false);
  else
    g_stage = Stage::kOver;
}

void judge_window() {
  Leader& leader = g_leader;
  const double ns = slowest_ns();
  if (leader.watches) {
    if (!leader.watch.add(ns)) return g_job_file.give(kOrderWatch, "", false);
    const KeptFix worst = leader.kept[--leader.kept_count];
    note(false, "auto: %s is taken back: in %u windows a step took over %.6g ms, as hardly ever without it",
         worst.fix->name, HarmWatch::kWindows, 1e-6 * worst.limit_ns);
    leader.watch = {leader.kept_count > 0 ? leader.kept[leader.kept_count - 1].limit_ns : 0, 0};
    leader.watches = false;
    leader.settles = true;
    return g_job_file.give(kOrderSettle, worst.fix->name, false);
  }
  leader.trial.add(ns);
  leader.trial.gain(leader.gain);
  const Verdict verdict = leader.trial.verdict();
  if (verdict == Verdict::kOpen) return g_job_file.give(kOrderTry, leader.fix->name, leader.trial.next_is_on());
  note_trial(leader.fix, verdict);
  settle(verdict);
}

void tend_leader() {
  Leader& leader = g_leader;
  JobOrder& order = g_job_file.order();
  if (anybody_says(&JobMember::stop, 1)) return g_job_file.give(kOrderOver, "", false);
  if (leader.fix == nullptr && !leader.settles && !leader.watches) return begin_next();
  if (leader.fix != nullptr && anybody_says(&JobMember::refused, order.number)) {
    note(false, "auto: %s changes nothing here, or does not come on: it is not tried", leader.fix->name);
    leader.decision = "not tried";
    return settle(Verdict::kNoGain);
  }
  if (order.go == order.number) {
    if (all_say(&JobMember::measured, order.number)) judge_window();
  } else if (all_say(&JobMember::obeyed, order.number)) {
    if (leader.settles) {
      leader.settles = false;
      begin_next();
    } else {
      __atomic_store_n(&order.go, order.number, __ATOMIC_RELEASE);
    }
  }
}

// ---- both ----

void take_steps() {
  LiveStep steps[32];
  for (unsigned count = 0; (count = take_live_steps(steps, 32)) > 0;)
    for (unsigned i = 0; i < count && g_member.measuring != 0; ++i)
      g_member.window.add(steps[i].begin_ns, steps[i].end_ns);
}

// Nothing of a trial stays, and no trial begins any more; what was kept stays kept.
void end_early(const char* why, int rank) {
  if (g_leader.fix != nullptr) note_trial(g_leader.fix, Verdict::kTooFew);
  if (g_member.trying != nullptr)
    note(false, "auto ends: %s (rank %d); %s is off again", why, rank, g_member.trying->name);
  drop_trial();
  g_leader.fix = nullptr;
  g_stage = Stage::kOver;
}

void wait_for_steps(std::uint64_t now_ns) {
  if (live_step_count() >= kStepsFirst) {
    g_stage = Stage::kGathering;
    g_since_ns = now_ns;
    g_said = false;
    return;
  }
  if (g_said || now_ns < g_since_ns + kSayNothingNs) return;
  g_said = true;
  note(false, "auto tries nothing so far: no steps are marked, and none are found in what repeats");
}

void gather(std::uint64_t now_ns) {
  if (!g_job_file.is_joined()) {
    const JobFile::Join joined = g_job_file.join(g_job, g_header.rank, g_header.world_size);
    if (joined == JobFile::Join::kTaken) {
      if (!g_said) note(false, "auto tries nothing here: another process speaks for rank %d", g_header.rank);
      g_said = true;
      return;
    }
    if (joined == JobFile::Join::kBusy) return;
    if (joined == JobFile::Join::kFailed) {
      note(false, "auto tries nothing: ranks cannot meet in the run folder (%s)", strerrordesc_np(errno));
      g_stage = Stage::kOver;
      return;
    }
    g_member.order = g_job_file.order().number;
  }
  g_job_file.say_here(now_ns);
  int gone = 0;
  const int there = g_job_file.count_there(now_ns, gone);
  if (there == g_job_file.world()) {
    g_stage = Stage::kUnderWay;
    g_leader = {};
  } else if (!g_said && now_ns > g_since_ns + kSayMissingNs) {
    g_said = true;
    note(false, "auto tries nothing: %d of %d ranks make steps on this host and want it", there, g_job_file.world());
  }
}

void go_on(std::uint64_t now_ns) {
  g_job_file.say_here(now_ns);
  // Who gave that order may be gone by now.
  if (g_job_file.order().kind == kOrderOver) return tend_member(now_ns);
  int gone = 0;
  if (g_job_file.count_there(now_ns, gone) < g_job_file.world()) return end_early("a rank is gone", gone);
  // Alone, an order is given and taken up in the same round.
  for (int round = 0; round < 2 && g_stage == Stage::kUnderWay; ++round) {
    if (g_job_file.is_leader()) tend_leader();
    if (g_stage == Stage::kUnderWay) tend_member(now_ns);
  }
}

// `fix off auto`: what was kept goes, in all ranks.
void stop(std::uint64_t now_ns) {
  if (g_stage == Stage::kUnderWay && g_job_file.world() > 1) {
    __atomic_store_n(&g_job_file.own().stop, std::uint32_t{1}, __ATOMIC_RELEASE);
    go_on(now_ns);
    if (g_stage == Stage::kUnderWay) return;
  }
  if (g_leader.fix != nullptr) note_trial(g_leader.fix, Verdict::kTooFew);
  drop_trial();
  take_back_kept();
  g_job_file.leave();
  note(false, "auto off: trials end, and what they kept is taken back");
  g_leader = {};
  g_stage = Stage::kOff;
}

void show_leader(ShownTrial& shown) {
  const Leader& leader = g_leader;
  for (unsigned i = 0; i < leader.kept_count; ++i) {
    const std::size_t used = strlen(shown.kept);
    snprintf(shown.kept + used, sizeof shown.kept - used, "%s%s", i == 0 ? "" : ",", leader.kept[i].fix->name);
  }
  if (leader.last == nullptr) return;
  snprintf(shown.fix, sizeof shown.fix, "%s", leader.last->name);
  snprintf(shown.decision, sizeof shown.decision, "%s", leader.decision);
  fill_trial(leader.trial, leader.gain, shown);
}

// For who looks from outside, four times a second.
void show() {
  ShownTrial shown{};
  shown.stage = g_stage;
  show_leader(shown);
  show_trial(shown);
}

void say_at_the_end() {
  const bool early = g_stage == Stage::kNoSteps || g_stage == Stage::kGathering;
  if (early && !g_said)
    note(false, g_stage == Stage::kNoSteps ? "auto tried nothing: too few steps"
                                           : "auto tried nothing: not all ranks were there");
  if (g_leader.fix != nullptr) note_trial(g_leader.fix, Verdict::kTooFew);
  g_leader.fix = nullptr;
  g_job_file.leave();
  g_stage = Stage::kOff;
}

void tend_stage(bool wanted, bool last) {
  const std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (g_stage == Stage::kOff) {
    g_stage = Stage::kNoSteps;
    g_since_ns = now_ns;
    g_said = false;
  }
  take_steps();
  if (last) return say_at_the_end();
  if (!wanted) return stop(now_ns);
  if (g_stage == Stage::kNoSteps) wait_for_steps(now_ns);
  if (g_stage == Stage::kGathering) gather(now_ns);
  if (g_stage == Stage::kUnderWay) go_on(now_ns);
}

}  // namespace

bool want_auto(bool on, const char* names, char* why, std::size_t bytes) {
  char list[sizeof g_names];
  snprintf(list, sizeof list, "%s", names);
  char* rest = nullptr;
  for (char* name = strtok_r(list, ", ", &rest); name != nullptr && on; name = strtok_r(nullptr, ", ", &rest))
    if (fix_named(name) == nullptr) return write_unknown(name, why, bytes), false;
  if (on) snprintf(g_names, sizeof g_names, "%s", names);
  if (on && g_stage == Stage::kOver) {  // once more
    g_job_file.leave();
    g_leader = {};
    g_stage = Stage::kOff;
  }
  g_wanted.store(on, std::memory_order_release);
  return true;
}

void note_job(char** environment) { g_job = JobFile::job_of(environment); }

void tend_auto(bool last) {
  const bool wanted = g_wanted.load(std::memory_order_acquire);
  if (g_stage == Stage::kOff && (!wanted || last)) return;
  tend_stage(wanted, last);
  show();
}

}  // namespace hostprobe::probe
