// A signal between any two instructions of the cold paths: where a chunk is full and a new one is taken, and where a thread
// ends. The thread is stepped, and after so many steps a signal comes whose handler's hook records too. Whatever it meets: each
// record that was taken is there once, with what was stored in it, and the others are counted.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <vector>

#include "probe/record/hook.h"
#include "probe/runtime/options.h"
#include "probe/writer/drain.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/file/trace_file.h"
#include "probe_fakes.h"
#include "trace/unpack.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HP_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HP_SANITIZED 1
#endif

#if defined(__x86_64__) && !defined(HP_SANITIZED)
namespace hostprobe::probe {
namespace {

constexpr long long kStepping = 0x100;   // the trap flag
constexpr std::uint32_t kLastRound = 4;  // of key destructors

long g_steps_left;
bool g_came;  // the signal
bool g_ends;  // stepping stops a little after the thread's trace has ended
unsigned g_steps_at_end;
// The test's own account is interrupted as well, so each step of it is one instruction.
std::vector<std::uint64_t> g_kept(1u << 20);
std::atomic<std::size_t> g_kept_count;
std::atomic<std::uint64_t> g_last_value, g_lost;

void write_next() {
  const std::uint64_t value = ++g_last_value;
  Record* r = reserve_record();
  if (r == nullptr) {
    ++g_lost;
    return;
  }
  r->begin_ticks = value;
  r->end_ticks = value + 1;
  r->a = r->b = r->c = r->d = r->e = value;
  commit_record(r, *__start_hp_state, 0, 0);
  g_kept[g_kept_count++] = value;
}

// The signal stays blocked in here, so it comes where the step was made, unless it is blocked there.
void step(int, siginfo_t*, void* context) {
  auto& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  if (g_ends && t_local.entry == nullptr && ++g_steps_at_end > 60) flags &= ~kStepping;
  if (g_ends && t_local.exit_rounds < kLastRound) return;  // nothing of ours is cold before that
  if (--g_steps_left > 0) return;
  flags &= ~kStepping;
  g_came = true;
  raise(SIGUSR1);
}

void catch_signals() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGUSR1);
  action.sa_sigaction = step;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  action.sa_flags = 0;
  action.sa_handler = [](int) { write_next(); };
  sigaction(SIGUSR1, &action, nullptr);
}

__attribute__((noinline)) void begin_steps(long steps, bool ends) {
  g_steps_left = steps;
  g_came = false;
  g_ends = ends;
  g_steps_at_end = 0;
  asm volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
}
void end_steps() { asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc"); }

std::vector<std::uint64_t> values_in_file() {
  std::ifstream in(g_file.path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::uint64_t> values;
  for (std::size_t at = kFileHeaderBytes; at + sizeof(BlockHead) <= bytes.size();) {
    BlockHead head;
    memcpy(&head, &bytes[at], sizeof head);
    at += sizeof head;
    if (head.kind == kBlockRecords) {
      for (std::size_t r = at + sizeof(RecordsHead); r < at + head.payload_bytes; r += sizeof(Record)) {
        Record record;
        memcpy(static_cast<void*>(&record), &bytes[r], sizeof record);
        EXPECT_EQ(record.a, record.begin_ticks);
        EXPECT_EQ(record.e, record.a);
        values.push_back(record.a);
      }
    }
    at += head.payload_bytes;
  }
  std::sort(values.begin(), values.end());
  return values;
}

class Interrupted : public testing::Test {
 protected:
  void SetUp() override {
    g_options.compress = kNone;  // records stand in the file as they are
    g_kept.assign(1u << 20, 0);
    g_kept_count = 0;
    g_last_value = g_lost = 0;
    catch_signals();
  }
  void TearDown() override {
    g_options.compress = kZstd;
    signal(SIGTRAP, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
  }
  static void drain() {
    drain_full_chunks();
    drain_rest(true, false);
  }
  static void expect_all_once() {
    drain();
    g_kept.resize(g_kept_count);
    std::sort(g_kept.begin(), g_kept.end());
    const auto found = values_in_file();
    EXPECT_EQ(found.size(), g_kept.size());
    EXPECT_TRUE(found == g_kept);
    EXPECT_EQ(g_header.lost, g_lost);
    EXPECT_EQ(g_header.records, g_last_value);
  }
};

TEST_F(Interrupted, WhileANewChunkIsTakenEachRecordIsThereOnceOrCounted) {
  Folder folder;
  Recording recording(folder.path.c_str(), 4);
  write_next();
  long steps = 1;
  for (g_came = true; g_came; ++steps) {
    while (t_local.cursor < t_local.end) write_next();
    begin_steps(steps, false);
    write_next();
    end_steps();
    drain();
  }
  EXPECT_GT(steps, 200) << "the path is longer than that";
  EXPECT_EQ(t_local.filling, 0u);
  expect_all_once();
}

TEST_F(Interrupted, WhileAThreadEndsItsChunkIsHandedOverOnce) {
  Folder folder;
  Recording recording(folder.path.c_str(), 4);
  write_next();
  long steps = 1;
  for (g_came = true; g_came; steps += 3) {
    pthread_t thread;
    const auto live = [](void* argument) -> void* {
      for (int i = 0; i < 3; ++i) write_next();
      begin_steps(*static_cast<long*>(argument), true);
      return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, nullptr, live, &steps), 0);
    pthread_join(thread, nullptr);
    drain();
  }
  EXPECT_GT(steps, 200) << "the path is longer than that";
  for (int i = 0; i < 1000 && values_in_file().size() < g_kept_count; ++i, usleep(1000)) drain();
  expect_all_once();
}

}  // namespace
}  // namespace hostprobe::probe
#endif
