// step_search.cpp: see step_search.h. Threads are first counted, then the one that leads the process (as in the analysis: its main thread
// where that has a part in what is launched, else the one that launches most) is looked at until its period is known.
#include "probe/writer/steps/step_search.h"

#include <unistd.h>

#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/steps/live_period.h"
#include "probe/writer/steps/live_steps.h"
#include "probe/writer/steps/live_tokens.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kThreadsSeen = 16;
constexpr unsigned kThreadsTried = 3;
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

struct Search {
  std::uint64_t began_ns, again_ns;
  const Seen* thread;  // that marks, or whose calls are looked at
  unsigned tried;
  bool has_cut, with_shape;
  StepCutter cutter;
  double cut_ns;                   // where the step under way began; 0: not known
  std::uint64_t since_cut, usual;  // calls
  double first_ns, last_ns;        // of an optimizer's steps
  std::uint64_t since_optimizer;   // launches
};
HP_OF_RECORDING Search g_search{};
HP_OF_RECORDING LivePeriod g_period{};
HP_OF_RECORDING Seen g_seen[kThreadsSeen];

// In every mode: triggers and the fix `auto` need them, and so does who looks at the running process.
bool is_on() { return g_options.steps != kStepsOff; }

// Where the table is full, in the place of the one that makes fewest calls.
Seen* seen_of(const ChunkHead& chunk) {
  Seen* least = nullptr;
  for (Seen& one : g_seen) {
    if (one.tid == chunk.tid && one.start_ticks == chunk.thread_start_ticks) return &one;
    if (one.tid == 0) {  // they are taken in order: none of the later ones is its own
      least = &one;
      break;
    }
    if (&one != g_search.thread && (least == nullptr || one.calls() < least->calls())) least = &one;
  }
  *least = {chunk.thread_start_ticks, 0, chunk.tid, 0, 0};
  return least;
}

void forget_step() { g_search.cut_ns = 0; }

void forget_cut() {
  if (g_search.has_cut) lose_step_ends();
  g_search.has_cut = false;
}

// A new source begins with nothing.
void tell_from(LiveSource source, const Seen* thread) {
  g_period.end();
  forget_cut();
  g_search.thread = thread;
  if (thread != nullptr)
    begin_live_steps(source, thread->tid, thread->start_ticks);
  else
    begin_live_steps(source, 0, 0);
  forget_step();
}

void search_again(std::uint64_t after_ns) {
  g_period.end();
  forget_cut();
  g_search.thread = nullptr;
  g_search.tried = 0;
  g_search.again_ns = after_ns;
  for (Seen& one : g_seen) one.gpu = one.waits = 0;
}

// The program's own marks count before an optimizer's, and either before what is detected. Of several threads that mark it is the first.
void take_mark(const Seen* seen, StepMark mark, const Record& record) {
  const LiveSource source = mark == StepMark::kOwn ? LiveSource::kMarks : LiveSource::kOptimizer;
  if (source == LiveSource::kOptimizer && g_options.steps != kStepsAuto) return;
  const bool weaker = live_source() != LiveSource::kMarks && live_source() != source;
  if (weaker) tell_from(source, seen), g_search.first_ns = g_live_clock(record.begin_ticks);
  if (live_source() != source || g_search.thread != seen) return;
  g_search.last_ns = g_live_clock(record.end_ticks);
  g_search.since_optimizer = 0;
  end_live_step(g_live_clock(record.begin_ticks), g_search.last_ns);
}

// As in the analysis: its steps were captured into a graph, which runs since then. Should it step again, its steps count again.
bool launches_without_optimizer(const Seen* seen, const Record& record, StepToken type) {
  if (live_source() != LiveSource::kOptimizer || g_search.thread != seen || type == StepToken::kWait) return false;
  const double behind_ns = g_live_clock(record.begin_ticks) - g_search.last_ns;
  return ++g_search.since_optimizer > kFewCalls &&
         behind_ns > kWithoutOptimizer * (g_search.last_ns - g_search.first_ns);
}

void take_call(const Record& record, const RowFacts& facts) {
  if ((facts.type == StepToken::kWait) != g_period.of_waits()) return;
  if (g_period.is_open()) return g_period.add(live_token_of(record, facts, g_live_clock, true));
  if (!g_search.has_cut) return;
  const Token token = live_token_of(record, facts, g_live_clock, g_search.with_shape);
  ++g_search.since_cut;
  double at_ns = 0;
  if (!g_search.cutter.ends(token, at_ns)) {
    if (g_search.since_cut > 1000 + kLostAfter * g_search.usual)
      search_again(0), tell_from(LiveSource::kNotYet, nullptr);
    return;
  }
  count_step_end();
  if (g_search.cut_ns != 0) end_live_step(g_search.cut_ns, at_ns);
  g_search.usual = g_search.since_cut > g_search.usual ? g_search.since_cut : g_search.usual - g_search.usual / 16;
  g_search.since_cut = 0;
  g_search.cut_ns = at_ns;
}

void take(Seen* seen, const Record& record) {
  const RowFacts& facts = row_facts(record.hook);
  if (facts.mark != StepMark::kNone) return take_mark(seen, facts.mark, record);
  if (facts.type == StepToken::kNone || is_left_out(record)) return;
  if (launches_without_optimizer(seen, record, facts.type)) search_again(0), tell_from(LiveSource::kNotYet, nullptr);
  if (live_source() == LiveSource::kMarks || live_source() == LiveSource::kOptimizer) return;
  if (g_options.steps != kStepsAuto) return;
  ++(facts.type == StepToken::kWait ? seen->waits : seen->gpu);
  if (g_search.thread == seen) take_call(record, facts);
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
  const bool late = now_ns > g_search.began_ns + kPatienceNs;
  const bool waits = gpu == 0 && late && g_header.rank >= 0;
  if (!waits && gpu < (late ? kFewCalls : kCallsToChoose)) return;
  const Seen* thread = g_search.tried < kThreadsTried ? leading(g_search.tried++, waits) : nullptr;
  if (thread == nullptr) {
    if (g_search.tried > (waits ? 0u : 1u)) tell_from(LiveSource::kNone, nullptr);
    return search_again(now_ns + kAgainNs);
  }
  g_search.thread = g_period.begin(waits) ? thread : nullptr;
  g_search.began_ns = now_ns;
}

void search(std::uint64_t now_ns) {
  if (!g_period.is_open()) {
    if (now_ns >= g_search.again_ns) choose_thread(now_ns);
    return;
  }
  StepCut cut;
  const LivePeriod::Result result = g_period.look(now_ns, cut);
  if (result == LivePeriod::Result::kFound) {
    const Seen* thread = g_search.thread;
    tell_from(LiveSource::kDetected, thread);
    g_search.cutter = StepCutter(cut);
    g_search.has_cut = true;
    g_search.with_shape = cut.with_shape;
    g_search.since_cut = g_search.usual = 0;
  } else if (result == LivePeriod::Result::kNone) {
    g_period.end();
    g_search.thread = nullptr;
  } else if (now_ns > g_search.began_ns + kAgainNs) {
    give_up_live_steps();  // so far: the calls go on being gathered
  }
}

}  // namespace

void see_records(ChunkHead* chunk, std::uint32_t end) {
  if (!is_on()) return;
  if (g_live_clock.ns_per_tick == 0) begin_step_look();
  Seen* seen = seen_of(*chunk);
  const bool is_first = seen->next == 0 && seen->calls() == 0;
  if (seen == g_search.thread && !is_first && chunk->first_sequence > seen->next) forget_step();
  const auto* slots = reinterpret_cast<const Record*>(chunk + 1);
  const std::uint64_t first = chunk->first_sequence;
  for (std::uint64_t i = seen->next > first ? seen->next - first : 0; i < end; ++i) {
    if (is_complete(slots[i], chunk->lap))
      take(seen, slots[i]);
    else if (seen == g_search.thread)
      forget_step();
  }
  if (first + end > seen->next) seen->next = first + end;
}

bool begin_step_look() {
  if (!is_on()) return false;
  refresh_live_clock();
  if (g_search.began_ns == 0) g_search.began_ns = static_cast<std::uint64_t>(g_live_clock.ns);
  return true;
}

void look_for_steps() {
  if (!is_on()) return;
  const bool by_marks = live_source() == LiveSource::kMarks || live_source() == LiveSource::kOptimizer;
  if (!by_marks && !g_search.has_cut && g_options.steps == kStepsAuto)
    search(static_cast<std::uint64_t>(g_live_clock.ns));
}

}  // namespace hostprobe::probe
