// calibrate.cpp: see calibrate.h. The least of several rounds, because everything else on the machine can only add.
#include "probe/control/calibrate.h"

#include "probe/hooks/poll_cost.h"
#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/pairing.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kCalls = 200;
constexpr unsigned kRounds = 9;
alignas(64) HP_KEPT_BY_CHILDREN char g_scratch[kChunkBytes];
HP_KEPT_BY_CHILDREN ThreadEntry g_entry;

// A call as the hooks make it, of a function that does nothing.
void recorded_call(const Hook& hook) {
  std::uint64_t begin = ticks();
  asm volatile("" ::: "memory");
  std::uint64_t end = ticks();
  Record* r = reserve_record();
  if (r == nullptr) return;
  r->begin_ticks = begin;
  r->end_ticks = end;
  r->a = r->b = r->c = r->d = r->e = begin;
  commit_record(r, hook, 0, 0);
}

void quiet_call(const void* object) {
  if (bucket_of(object).waiters.load(std::memory_order_relaxed) == 0) count_quiet();
}

template <class Call>
std::uint64_t cost_of(Call call) {
  std::uint64_t best = ~std::uint64_t{0};
  for (unsigned round = 0; round < kRounds; ++round) {
    t_local.cursor = reinterpret_cast<std::uintptr_t>(g_scratch);
    t_local.end = t_local.cursor + sizeof g_scratch;
    std::uint64_t begin = ticks();
    for (unsigned i = 0; i < kCalls; ++i) call();
    std::uint64_t spent = ticks() - begin;
    if (spent < best) best = spent;
  }
  return best * 1024 / kCalls;
}

// 1/1024 ticks added to a call that is recorded, and to one that needs no record.
HP_KEPT_BY_CHILDREN std::uint64_t g_record_cost = 0, g_quiet_cost = 0;

// The calling thread is the writer: muted, without an entry of its own.
void measure_costs() {
  ThreadLocal saved = t_local;
  t_local.entry = &g_entry;
  const Hook& hook = *__start_hp_state;
  g_record_cost = cost_of([&] { recorded_call(hook); });
  g_quiet_cost = cost_of([] { quiet_call(&g_entry); });
  t_local = saved;
}

}  // namespace

void know_costs() {
  if (g_record_cost == 0) {
    measure_asking();
    measure_costs();
  }
  put_costs_into_header();
}

void put_costs_into_header() {
  g_header.record_cost_ticks = g_record_cost;
  g_header.quiet_cost_ticks = g_quiet_cost;
}

}  // namespace hostprobe::probe
