// ending.cpp: see ending.h.
#include "probe/writer/ending.h"

#include <atomic>

#include "probe/record/bell.h"
#include "probe/runtime/futex.h"
#include "probe/runtime/of_process.h"
#include "probe/sources/sources.h"
#include "probe/writer/closing.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/own_thread.h"

namespace hostprobe::probe {
namespace {

constexpr int kFinishSeconds = 3;
HP_OF_PROCESS std::atomic<std::uint32_t> g_finish{0};
HP_OF_PROCESS std::atomic<std::uint32_t> g_finished{0};  // futex: the exiting thread waits here
HP_OF_PROCESS bool g_complete = false;
// Whether the writer is at work on the trace, is in the loader, or came back from there too late: whoever ends the trace did
// not wait any longer, and has done the rest.
enum class Turn : std::uint32_t { kWriter, kInLoader, kTaken };
HP_OF_PROCESS std::atomic<Turn> g_turn{Turn::kWriter};

// The writer is in the loader, perhaps until the calling thread comes out of there: what is left is done without it.
bool take_over() {
  Turn expected = Turn::kInLoader;
  if (!g_turn.compare_exchange_strong(expected, Turn::kTaken, std::memory_order_acq_rel)) return false;
  g_writer_state.store(WriterState::kFinished, std::memory_order_release);
  g_file.fd = -1;  // a number in the writer's own table
  g_own_descriptors = false;
  g_complete = write_the_rest();
  return true;
}

// There is no writer, and none starts any more.
bool finish_without() {
  if (!keep_writer_out()) return false;
  g_complete = write_the_rest();
  return true;
}

}  // namespace

bool finish_trace() {
  if (finish_without()) return g_complete;
  g_finish.store(1, std::memory_order_release);
  call_writer();
  constexpr long kLookNs = 20000000;
  for (int looks = 0; g_finished.load(std::memory_order_acquire) == 0; ++looks) {
    if (futex_wait(g_finished, 0, kLookNs)) continue;
    if (take_over() || finish_without()) break;
    if (looks >= kFinishSeconds * (1000000000 / kLookNs)) return false;
  }
  return g_complete;
}

void join_finished_writer() {
  const bool is_in_loader = g_turn.load(std::memory_order_acquire) == Turn::kTaken;
  if (g_writer_state.load(std::memory_order_acquire) == WriterState::kFinished && !is_in_loader) join_writer();
}

bool is_told_to_finish() { return g_finish.load(std::memory_order_acquire) != 0; }

void finish_by_itself() { g_finish.store(1, std::memory_order_release); }

void finish_as_writer() {
  g_complete = write_the_rest();
  end_sources(false);
  g_writer_state.store(WriterState::kFinished, std::memory_order_release);
  g_finished.store(1, std::memory_order_release);
  futex_wake(g_finished);
}

void enter_loader() { g_turn.store(Turn::kInLoader, std::memory_order_release); }

bool leave_loader() {
  Turn expected = Turn::kInLoader;
  return g_turn.compare_exchange_strong(expected, Turn::kWriter, std::memory_order_acq_rel);
}

}  // namespace hostprobe::probe
