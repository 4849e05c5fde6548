// drain.cpp: what it costs to bring a million recorded calls from the segment to a file, and how many bytes they become.
//
// The probe's own code from hook to file, linked in: records go into chunks as a hook writes them, then drain_full_chunks()
// is timed alone (CPU of this thread, the kernel's part of writing included). The three forms take turns in every repetition,
// each time beginning with another one. Nothing was drained before, so the writer meets records that are not in its caches.
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "probe/intercept/loader.h"
#include "probe/intercept/resolve.h"
#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/thread.h"
#include "probe/runtime/options.h"
#include "probe/runtime/start_objects.h"
#include "probe/writer/drain.h"
#include "probe/writer/file/hook_table.h"
#include "probe/writer/file/trace_file.h"

// What the probe's objects need from the parts that only an injected process has.
HP_ROW(kCuda, kLaunch, cuLaunchKernel, "", 0, 1, "kernel:str", "grid:dim", "block:dim", "stream:hex", "shared_bytes")
HP_ROW(kNccl, kCollective, ncclAllReduce, "", 0, 0, "comm:hex", "count", "call:nccl", "stream:hex", "place:ranks")
HP_ROW(kWait, kLock, pthread_mutex_lock, "", 1, 0, "object:hex", "waker:post", "site:code", "result:i", "")

namespace hostprobe::probe {
std::atomic<std::uint32_t> g_stacks_added{0};
bool writer_is_due(bool) { return false; }
bool has_writer() { return true; }
void start_writer() {}
double sources_cost() { return 0; }
void dump_sources() {}
std::uint32_t watched_thread(unsigned) { return 0; }
void note_thread_is_ending(std::uint32_t) {}
void leave_with_last_thread(std::uint32_t) {}
void report_write_failure() {}
bool begin_recording(Moment) { return false; }
bool hooks_enabled() { return true; }
bool is_own_address(const void*) { return false; }
const link_map* first_object() { return _r_debug.r_map; }
bool load_count_is_known() { return false; }
unsigned long long load_count() { return 0; }
LoaderVisit::LoaderVisit(unsigned) : is_allowed_(true) {}
LoaderVisit::~LoaderVisit() = default;
}  // namespace hostprobe::probe

namespace hostprobe::bench {
namespace {

using probe::__start_hp_hooks;
using probe::__start_hp_state;
using probe::__stop_hp_state;
using probe::Hook;

constexpr std::uint32_t kCalls = 1'000'000;
constexpr const char* kForms[] = {"zstd", "fast", "none"};  // as options.def counts them

// 60 kernels in an iteration of 1300 calls that repeats, NCCL every 40, contended mutexes between, every second with a
// waker; log-normal gaps and durations with 3 bytes of entropy together.
class Stream {
 public:
  Stream() {
    std::vector<Call> kernels;
    for (std::uint64_t k = 0; k < 60; ++k)
      kernels.push_back({kLaunch, 100 + 7 * k, pack_dim(1 + random(4096), 1 + random(3), 1),
                         pack_dim(32u << random(6), 1, 1), 0x5000, random(3) == 0 ? 1024 * random(48) : 0});
    for (int i = 0; i < 1300; ++i) {
      Call call = kernels[random(60)];
      if (random(4) == 0) call.b = pack_dim(1 + random(4096), 1, 1);
      if (random(8) == 0) call.d = 0x5100;
      if (random(5) == 0)
        call = {kMutex, 0x7f1234000000u + random(8) * 0x140u, 0, 0x7f4321000000u + random(4) * 0x1230u, 0, 0};
      if (i % 40 == 39)
        call = {kNccl, 0x77aabb1234567890, 1024u << random(12), 0, 0x55550000, pack_nccl_ranks(3, 8, -1)};
      iteration_.push_back(call);
    }
  }

  Record next() {
    const Call& call = iteration_[number_++ % iteration_.size()];
    Record r{};
    r.begin_ticks = now_ += ticks(gap_);
    r.end_ticks = now_ += ticks(duration_);
    r.hook = static_cast<std::uint16_t>(call.what + 1);
    r.a = call.a, r.b = call.b, r.c = call.c, r.d = call.d, r.e = call.e;
    if (call.what == kNccl) r.c = pack_nccl_call(++collectives_, 0, 7, 0);
    if (call.what == kMutex && random(2) == 0) r.b = pack_post(9000 + random(2), now_ - ticks(wake_));
    return r;
  }

 private:
  enum What : unsigned { kLaunch, kNccl, kMutex };
  struct Call {
    What what;
    std::uint64_t a, b, c, d, e;
  };
  std::uint32_t random(std::uint32_t below) { return static_cast<std::uint32_t>(engine_() % below); }
  std::uint64_t ticks(std::lognormal_distribution<double>& distribution) {
    return static_cast<std::uint64_t>(distribution(engine_));
  }

  std::mt19937_64 engine_{7};
  std::lognormal_distribution<double> gap_{std::log(1500), 0.8}, duration_{std::log(1500), 0.6},
      wake_{std::log(8000), 0.6};
  std::vector<Call> iteration_;
  std::uint64_t now_ = 1'000'000'000'000;
  std::uint64_t number_ = 0;
  std::uint32_t collectives_ = 0;
};

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

void prepare() {
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    hook->number = static_cast<std::uint16_t>(hook->row - __start_hp_hooks + 1);
  probe::make_thread_key();
  probe::g_options.buffer_mb = 96;
  probe::g_options.mode = probe::kTrace;
  if (!probe::make_segment()) std::exit(1);
  probe::g_gate.recording = 1;
}

void record(const std::vector<Record>& records) {
  for (const Record& from : records) {
    Record* to = probe::reserve_record();
    if (to == nullptr) std::exit((std::fputs("drain: a record was lost\n", stderr), 1));
    *to = from;
    probe::commit_record(to, __start_hp_state[from.hook - 1], 0, 0);
  }
}

struct Cost {
  double ms, bytes;  // per million calls; per call
};

Cost drain(const std::string& folder, const std::vector<Record>& records, unsigned form) {
  static std::uint64_t number = 0;
  probe::g_options.compress = form;
  record(records);
  probe::g_header = FileHeader{};
  if (!probe::create_file(folder.c_str(), ++number)) std::exit((std::perror("drain: the file"), 1));
  probe::write_hook_table();
  const std::uint64_t before = probe::g_file.bytes;
  const double begin = cpu_ms();
  probe::drain_full_chunks();
  const double ms = cpu_ms() - begin;
  const auto bytes = static_cast<double>(probe::g_file.bytes - before);
  probe::close_file();
  unlink(probe::g_file.path);
  if (probe::g_header.lost_in_file != 0) std::exit((std::fputs("drain: the file could not be written\n", stderr), 1));
  return {ms * 1e6 / static_cast<double>(records.size()), bytes / static_cast<double>(records.size())};
}

void print(const char* name, std::vector<Cost> costs, const std::vector<Cost>& base) {
  std::vector<double> ms, ratio;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    ms.push_back(costs[i].ms);
    ratio.push_back(costs[i].ms / base[i].ms);
  }
  std::sort(ms.begin(), ms.end());
  std::sort(ratio.begin(), ratio.end());
  const std::size_t middle = ms.size() / 2;
  std::printf("| %s | %.1f (%.1f–%.1f) | %.2f (%.2f–%.2f) | %.2f |\n", name, ms[middle], ms.front(), ms.back(),
              ratio[middle], ratio.front(), ratio.back(), costs.back().bytes);
}

// How hard the stream is: what a general compressor makes of the plain records.
double plain_zstd_bytes(const std::vector<Record>& records) {
  constexpr std::size_t kTogether = 4096;
  std::vector<char> out(ZSTD_compressBound(kTogether * sizeof(Record)));
  std::size_t sum = 0;
  for (std::size_t at = 0; at < records.size(); at += kTogether) {
    const std::size_t count = std::min(kTogether, records.size() - at);
    sum += ZSTD_compress(out.data(), out.size(), &records[at], count * sizeof(Record), 1);
  }
  return static_cast<double>(sum) / static_cast<double>(records.size());
}

}  // namespace
}  // namespace hostprobe::bench

int main(int argc, char** argv) {
  using namespace hostprobe::bench;
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 15;
  if (argc > 2 || repetitions < 1) {
    std::fputs("usage: drain [REPETITIONS]   (15; a temporary file of 64 MB is written in each)\n", stderr);
    return 2;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "hostprobe-drain-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return std::perror("drain: the folder"), 1;
  Stream stream;
  std::vector<hostprobe::Record> records;
  // Whole chunks only, so that every record is drained.
  const std::uint32_t count = kCalls / hostprobe::kChunkRecords * hostprobe::kChunkRecords;
  for (std::uint32_t i = 0; i < count; ++i) records.push_back(stream.next());
  prepare();
  std::vector<Cost> costs[3];
  for (int i = -1; i < repetitions; ++i)  // the first touches all memory and does not count
    for (unsigned k = 0; k < 3; ++k) {
      const unsigned form = (static_cast<unsigned>(i + 1) + k) % 3;
      const Cost cost = drain(folder, records, form);
      if (i >= 0) costs[form].push_back(cost);
    }
  std::puts("| HOSTPROBE_COMPRESS | ms CPU per million calls | of none's | bytes per call |\n|---|---|---|---|");
  for (unsigned form = 0; form < 3; ++form) print(kForms[form], costs[form], costs[2]);
  std::printf("%d repetitions, median (least–greatest); zstd -1 makes %.1f bytes per call of the plain records\n",
              repetitions, plain_zstd_bytes(records));
  std::filesystem::remove_all(folder);
}
