// live_steps.cpp: see live_steps.h. Threads are first counted, then the one that leads the process (as in the analysis: its main thread
// where that has a part in what is launched, else the one that launches most) is looked at until its period is known.
#include "probe/writer/steps/live_steps.h"

#include <time.h>
#include <unistd.h>

#include "probe/record/gate.h"
#include "probe/record/spans.h"
#include "probe/record/step_lengths.h"
#include "probe/record/thread.h"
#include "probe/record/trigger.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/control/budget.h"
#include "probe/writer/drain.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/steps/live_period.h"
#include "probe/writer/steps/live_tokens.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kThreadsSeen = 16;
constexpr unsigned kThreadsTried = 3;
constexpr unsigned kWaiting = 512;             // steps that nobody took yet
constexpr std::uint32_t kCallsToChoose = 256;  // of launches and collectives, before the leading thread is chosen
constexpr std::uint32_t kFewCalls = 64;
constexpr std::uint64_t kPatienceNs = 10'000'000'000;
constexpr std::uint64_t kAgainNs = 60'000'000'000;
constexpr std::uint64_t kLostAfter = 16;  // steps' worth of calls without an end of one

struct Seen {
  std::uint64_t start_ticks, next;  // the running number of the first record that was not seen yet
  std::uint32_t tid;
  std::uint32_t gpu, waits;  // calls so far

  std::uint32_t calls() const { return gpu + waits; }
};

struct Live {
  bool wanted;
  LiveSource source;
  std::uint64_t began_ns, again_ns;
  NsOfTicks clock;
  double moved_ns;     // when recording paused or went on last
  double recorded_ns;  // shed launches: nothing before this is whole
  const Seen* thread;  // that marks, or whose calls are looked at
  unsigned tried;
  bool has_cut, with_shape;
  StepCutter cutter;
  double cut_ns;                   // where the step under way began; 0: not known
  std::uint64_t since_cut, usual;  // calls
  std::uint64_t count;
  StepEnds ends;
  StepLengths lengths;  // ns
  std::uint32_t first, waiting;
};
HP_OF_RECORDING Live g_live{};
HP_OF_RECORDING LivePeriod g_period{};
HP_OF_RECORDING Seen g_seen[kThreadsSeen];
HP_OF_RECORDING LiveStep g_steps[kWaiting];
HP_OF_RECORDING SiteCounter g_counter{};  // all of `g_live.count`

bool is_on() {
  return g_live.wanted || g_options.mode == kMonitor ||
         (g_options.mode == kFlight && (g_options.slow_step_pct != 0 || g_options.hang_s != 0));
}

// Where the table is full, in the place of the one that makes fewest calls.
Seen* seen_of(const ChunkHead& chunk) {
  Seen* least = nullptr;
  for (Seen& one : g_seen) {
    if (one.tid == chunk.tid && one.start_ticks == chunk.thread_start_ticks) return &one;
    if (one.tid == 0) {  // they are taken in order: none of the later ones is its own
      least = &one;
      break;
    }
    if (&one != g_live.thread && (least == nullptr || one.calls() < least->calls())) least = &one;
  }
  *least = {chunk.thread_start_ticks, 0, chunk.tid, 0, 0};
  return least;
}

void forget_step() { g_live.cut_ns = 0; }

void forget_cut() {
  if (g_live.has_cut) ++g_live.ends.lost;
  g_live.has_cut = false;
}

// A new source begins with nothing.
void tell_from(LiveSource source, const Seen* thread) {
  g_period.end();
  forget_cut();
  g_live.source = source;
  g_live.thread = thread;
  g_live.count = 0;
  g_live.lengths = {};
  g_live.waiting = 0;
  clear_spans(g_counter.time);
  forget_step();
}

void search_again(std::uint64_t after_ns) {
  g_period.end();
  forget_cut();
  g_live.thread = nullptr;
  g_live.tried = 0;
  g_live.again_ns = after_ns;
  for (Seen& one : g_seen) one.gpu = one.waits = 0;
}

void end_step(double begin_ns, double end_ns) {
  Live& live = g_live;
  const bool paused = begin_ns < live.moved_ns && live.moved_ns < end_ns;
  if (end_ns <= begin_ns || paused || (live.source == LiveSource::kDetected && begin_ns < live.recorded_ns)) return;
  const auto length = static_cast<std::uint64_t>(end_ns - begin_ns);
  if (live.source == LiveSource::kDetected && live.lengths.is_outlier(length, g_options.slow_step_pct))
    request_slow_step(live.count, 1e-6 * static_cast<double>(length),
                      1e-6 * static_cast<double>(live.lengths.median()));
  live.lengths.add(length);
  add_span(g_counter.time, static_cast<std::uint64_t>((end_ns - begin_ns) / live.clock.ns_per_tick));
  g_steps[(live.first + live.waiting) % kWaiting] = {live.count++, begin_ns, end_ns};
  if (live.waiting < kWaiting)
    ++live.waiting;
  else
    live.first = (live.first + 1) % kWaiting;
}

// The program's own marks count before an optimizer's, and either before what is detected. Of several threads that mark it is the first.
void take_mark(const Seen* seen, StepMark mark, const Record& record) {
  const LiveSource source = mark == StepMark::kOwn ? LiveSource::kMarks : LiveSource::kOptimizer;
  if (source == LiveSource::kOptimizer && g_options.steps != kStepsAuto) return;
  const bool weaker = g_live.source != LiveSource::kMarks && g_live.source != source;
  if (weaker) tell_from(source, seen);
  if (g_live.source == source && g_live.thread == seen)
    end_step(g_live.clock(record.begin_ticks), g_live.clock(record.end_ticks));
}

void take_call(const Record& record, const RowFacts& facts) {
  if ((facts.type == StepToken::kWait) != g_period.of_waits()) return;
  if (g_period.is_open()) return g_period.add(live_token_of(record, facts, g_live.clock, true));
  if (!g_live.has_cut) return;
  const Token token = live_token_of(record, facts, g_live.clock, g_live.with_shape);
  ++g_live.since_cut;
  double at_ns = 0;
  if (!g_live.cutter.ends(token, at_ns)) {
    if (g_live.since_cut > 1000 + kLostAfter * g_live.usual) search_again(0), tell_from(LiveSource::kNotYet, nullptr);
    return;
  }
  ++g_live.ends.seen;
  if (g_live.cut_ns != 0) end_step(g_live.cut_ns, at_ns);
  g_live.usual = g_live.since_cut > g_live.usual ? g_live.since_cut : g_live.usual - g_live.usual / 16;
  g_live.since_cut = 0;
  g_live.cut_ns = at_ns;
}

void take(Seen* seen, const Record& record) {
  const RowFacts& facts = row_facts(record.hook);
  if (facts.mark != StepMark::kNone) return take_mark(seen, facts.mark, record);
  if (facts.type == StepToken::kNone || is_left_out(record)) return;
  if (g_live.source == LiveSource::kMarks || g_live.source == LiveSource::kOptimizer) return;
  if (g_options.steps != kStepsAuto) return;
  ++(facts.type == StepToken::kWait ? seen->waits : seen->gpu);
  if (g_live.thread == seen) take_call(record, facts);
}

// The `place`th of those that make most of the calls; the main thread is first where it makes a tenth of the most.
const Seen* leading(unsigned place, bool waits) {
  const auto main_tid = static_cast<std::uint32_t>(getpid());
  std::uint32_t most = 0;
  for (const Seen& one : g_seen) most = one.gpu > most ? one.gpu : most;
  const auto rank = [&](const Seen& one) {
    return std::uint64_t{one.gpu} + (one.tid == main_tid && one.gpu * std::uint64_t{10} >= most ? most : 0);
  };
  if (waits) {
    for (const Seen& one : g_seen)
      if (one.tid == main_tid && one.waits >= kFewCalls && place == 0) return &one;
    return nullptr;
  }
  for (const Seen& one : g_seen) {
    unsigned before = 0;
    for (const Seen& other : g_seen) before += rank(other) > rank(one) || (rank(other) == rank(one) && &other < &one);
    if (before == place && one.gpu != 0) return &one;
  }
  return nullptr;
}

// Waits come as they like: only a rank of a job is sure to make steps at all.
void choose_thread(std::uint64_t now_ns) {
  std::uint64_t gpu = 0;
  for (const Seen& one : g_seen) gpu += one.gpu;
  const bool late = now_ns > g_live.began_ns + kPatienceNs;
  const bool waits = gpu == 0 && late && g_header.rank >= 0;
  if (!waits && gpu < (late ? kFewCalls : kCallsToChoose)) return;
  const Seen* thread = g_live.tried < kThreadsTried ? leading(g_live.tried++, waits) : nullptr;
  if (thread == nullptr) {
    if (g_live.tried > (waits ? 0u : 1u)) tell_from(LiveSource::kNone, nullptr);
    return search_again(now_ns + kAgainNs);
  }
  g_live.thread = g_period.begin(waits) ? thread : nullptr;
  g_live.began_ns = now_ns;
}

void search(std::uint64_t now_ns) {
  if (!g_period.is_open()) {
    if (now_ns >= g_live.again_ns) choose_thread(now_ns);
    return;
  }
  StepCut cut;
  const LivePeriod::Result result = g_period.look(now_ns, cut);
  if (result == LivePeriod::Result::kFound) {
    const Seen* thread = g_live.thread;
    tell_from(LiveSource::kDetected, thread);
    g_live.cutter = StepCutter(cut);
    g_live.has_cut = true;
    g_live.with_shape = cut.with_shape;
    g_live.since_cut = g_live.usual = 0;
  } else if (result == LivePeriod::Result::kNone) {
    g_period.end();
    g_live.thread = nullptr;
  } else if (now_ns > g_live.began_ns + kAgainNs) {
    g_live.source = LiveSource::kNone;  // so far: the calls go on being gathered
  }
}

void refresh_clock() {
  Live& live = g_live;
  const ClockPair now = read_clock_pair(), then = load_clock();
  live.clock = {
      static_cast<double>(now.ticks), static_cast<double>(now.monotonic_ns),
      static_cast<double>(now.monotonic_ns - then.monotonic_ns) / static_cast<double>(now.ticks - then.ticks)};
  live.moved_ns = static_cast<double>(gate_moved_ns()) - static_cast<double>(now.realtime_ns) +
                  static_cast<double>(now.monotonic_ns);
  if (detail_shed() >= kShedLaunches) live.recorded_ns = static_cast<double>(now.monotonic_ns);
  if (live.began_ns == 0) live.began_ns = now.monotonic_ns;
}

}  // namespace

const char* live_source_name(LiveSource source) {
  constexpr const char* kNames[] = {"not_yet", "marks", "optimizer", "detected", "none"};
  return kNames[static_cast<unsigned>(source)];
}

void want_live_steps(bool wanted) { g_live.wanted = wanted; }

void see_records(const ChunkHead* chunk, std::uint32_t end) {
  if (!is_on() || g_options.steps == kStepsOff) return;
  if (g_live.clock.ns_per_tick == 0) refresh_clock();
  Seen* seen = seen_of(*chunk);
  const bool is_first = seen->next == 0 && seen->calls() == 0;
  if (seen == g_live.thread && !is_first && chunk->first_sequence > seen->next) forget_step();
  const auto* slots = reinterpret_cast<const Record*>(chunk + 1);
  const std::uint64_t first = chunk->first_sequence;
  for (std::uint64_t i = seen->next > first ? seen->next - first : 0; i < end; ++i) {
    if (is_complete(slots[i], chunk->lap))
      take(seen, slots[i]);
    else if (seen == g_live.thread)
      forget_step();
  }
  if (first + end > seen->next) seen->next = first + end;
}

void see_open_chunks() {
  if (!is_on() || g_options.steps == kStepsOff) return;
  refresh_clock();
  for (std::uint32_t i = 0, used = threads_used(); i < used; ++i)
    if (const ChunkHead* chunk = open_chunk_of(g_segment.threads[i])) see_records(chunk, first_incomplete(chunk));
  const bool by_marks = g_live.source == LiveSource::kMarks || g_live.source == LiveSource::kOptimizer;
  if (!by_marks && !g_live.has_cut && g_options.steps == kStepsAuto)
    search(static_cast<std::uint64_t>(g_live.clock.ns));
}

LiveSource live_source() { return g_live.source; }
StepEnds live_step_ends() { return g_live.ends; }
std::uint64_t live_step_count() { return g_live.count; }
const SiteCounter& live_step_counter() {
  constexpr StepsFrom kFrom[] = {StepsFrom{}, kStepsFromMarks, kStepsFromOptimizer, kStepsFromCalls, StepsFrom{}};
  g_counter.key = kFrom[static_cast<unsigned>(g_live.source)];
  if (g_live.thread != nullptr) {
    g_counter.tid = g_live.thread->tid;
    g_counter.thread_start_ticks = g_live.thread->start_ticks;
  }
  return g_counter;
}
double live_step_median_ns() { return static_cast<double>(g_live.lengths.median()); }

unsigned take_live_steps(LiveStep* steps, unsigned most) {
  unsigned taken = 0;
  for (; taken < most && g_live.waiting > 0; ++taken, --g_live.waiting) {
    steps[taken] = g_steps[g_live.first];
    g_live.first = (g_live.first + 1) % kWaiting;
  }
  return taken;
}

}  // namespace hostprobe::probe
