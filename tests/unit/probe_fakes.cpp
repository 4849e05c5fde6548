// probe_fakes.cpp: see probe_fakes.h. The doors (record/doors.h) and a hook table of four rows.
#include "probe_fakes.h"

#include <sys/shm.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "probe/intercept/loader.h"
#include "probe/intercept/resolve.h"
#include "probe/record/bell.h"
#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/strings.h"
#include "probe/record/thread.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/start_objects.h"
#include "probe/sources/sources.h"
#include "probe/sources/watched_threads.h"
#include "probe/stacks/stack_table.h"
#include "probe/writer/drain.h"
#include "probe/writer/file/hook_table.h"
#include "probe/writer/file/modules.h"
#include "probe/writer/file/trace_file.h"

#if defined(__SANITIZE_THREAD__)
// The queue orders its memory by fences, which this compiler's thread sanitizer does not follow (it warns about each): now
// and then it takes a hand-over inside the queue for a race. What travels through the queue is still checked.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:concurrentqueue.h\n"; }
#endif

HP_ROW(kWait, kSemaphore, sem_wait, "", 1, 0, "object:hex", "waker:post", "site:code", "result:i", "")
HP_ROW(kCuda, kLaunch, cuLaunchKernel, "", 0, 1, "kernel:str", "grid:dim", "block:dim", "stream:hex", "shared_bytes")
HP_ROW(kPython, kOptimizerStep, hostprobe_optimizer_step, "", 0, 0, "number", "", "", "", "")
HP_ROW(kNccl, kCollective, ncclAllReduce, "", 0, 0, "comm:hex", "count", "call:nccl", "stream:hex", "place:ranks")

namespace hostprobe::probe {

std::atomic<std::uint32_t> g_stacks_added{0};

unsigned bells_rung() { return bell_count(); }
bool writer_is_due(bool) { return false; }
bool has_writer() { return true; }
std::uint32_t watched_thread(unsigned) { return 0; }
void dump_sources() {}
SourcesCost sources_cost() { return {}; }
void start_writer() {}
void note_thread_is_ending(std::uint32_t) {}
void leave_with_last_thread(std::uint32_t) {}
void report_write_failure() {}
bool begin_recording(Moment) { return false; }
bool begin_launch(const Hook&) { return g_gate.recording == kSampleDue; }
const void* g_sampled_stream = nullptr;
void sample_queue(const void* stream, bool) { g_sampled_stream = stream; }
const void* g_captured_stream = nullptr;
void look_at_enqueued(WorkQueue work, std::uint64_t) {
  if (work.stream == g_captured_stream) t_local.lap_and_mark |= std::uint32_t{kRecordCaptured} << 16;
}
void submit_launches(bool) {}
int take_launch_error() { return 0; }
bool hooks_enabled() { return true; }
// In the library this is resolve.cpp's; here there is no code of ours to leave out.
bool is_own_address(const void*) { return false; }
const link_map* first_object() { return _r_debug.r_map; }
bool load_count_is_known() { return false; }
unsigned long long load_count() { return 0; }
LoaderVisit::LoaderVisit(unsigned) : is_allowed_(true) {}
LoaderVisit::~LoaderVisit() = default;

const Hook& fake_hook(const char* name) {
  for (const Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    if (std::string(hook->row->name) == name) return *hook;
  throw std::runtime_error(name);
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "hostprobe-unit-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
  path = name;
}

Folder::~Folder() { std::filesystem::remove_all(path); }

Recording::Recording(const char* folder, unsigned buffer_mb, Mode mode) {
  static bool table_numbered = false;
  if (!table_numbered) {
    table_numbered = true;
    link_hooks();
    make_thread_key();
  }
  g_options.buffer_mb = buffer_mb;
  g_options.ended_threads = 1000000;
  g_options.mode = mode;
  if (!make_segment()) throw std::runtime_error("no segment");
  g_header = FileHeader{};
  g_header.magic = kFileMagic;
  g_header.version = kFileVersion;
  g_header.header_bytes = kFileHeaderBytes;
  g_header.state = kFileOpen;
  g_header.segment_id = g_segment.id;
  g_header.cookie = g_segment.header->cookie;
  g_header.start = g_header.first = g_header.last = g_segment.header->clock;
  static std::atomic<std::uint64_t> g_run{1};
  if (!create_file(folder, g_run.fetch_add(1))) throw std::runtime_error("no file");
  write_hook_table();
  g_gate.recording = kEverything;
}

Recording::~Recording() {
  g_gate.recording = 0;
  close_file();
  reset_thread_local();
  if (g_segment.id >= 0) shmctl(g_segment.id, IPC_RMID, nullptr);
  forget_process();
  forget_recording();
  begin_modules();
}

}  // namespace hostprobe::probe
