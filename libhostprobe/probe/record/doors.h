// doors.h: what the program's threads ask, seldom, of the rooms above this one. Declared here, defined there.
//
// Room 2 (probe/). Includes never run up; these calls do, and no others (tests/house counts the symbols). Every one of them
// is cold. Unit tests put fakes in their place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

struct Hook;

// stacks/: a sample of the calling thread's stack after a wait of so many ticks at this place. Entry of the stack table plus 1, or 0.
std::uint16_t sample_stack(std::uint64_t now_ticks, const void* site, std::uint64_t length);

// hooks/: a launch into this stream is next, and the gate says that it is to be sampled.
void sample_queue(const void* stream, bool per_thread);

// What a call has put into a stream.
enum class Enqueued : std::uint8_t {
  kKernels,
  kCallback,  // of the program: the stream stands still meanwhile
  kTransfer,  // a copy or a fill
};
// The stream that work is put into, as the call's arguments name it.
struct WorkQueue {
  const void* stream;
  bool per_thread;  // stream 0 is the calling thread's own
  Enqueued what;
};
// hooks/: a call that began then has put it there, while some capture was open or a stretch of timed work is. Where a capture took a
// launch, the next record of this thread, which is its own, carries kRecordCaptured.
__attribute__((cold)) void look_at_enqueued(WorkQueue work, std::uint64_t begin_ticks);

// sources/: the program marked the end of a step on this thread while a window of PyTorch's profiler is wanted or open.
__attribute__((cold)) void mark_window_step();

// intercept/: the real function of a libc hook that was called before our constructor ran.
void find_real(Hook& hook);

// writer/: starts the thread; does nothing when it runs. Not where a signal handler may be running: pthread_create
// allocates.
void start_writer();
// Whether this process still lacks its writer. Asked where a thread takes a chunk or a place: whoever is in no signal
// handler then starts it. One that was forked may be about to exec, so it waits until it has handed a chunk over.
bool writer_is_due(bool handed_over);
bool has_writer();
// Says, once, that the file could not be written, if so. By the program's threads, at moments that are not hot: the
// writer's own descriptor table has no standard error.
void report_write_failure();

// fixes/: by the writer, four times a second and once as the trace ends; and what `hostprobe ctl PID fix …` asks for, "on NAME" or "off NAME". False:
// `why` says why not.
void tend_fixes(bool last);
bool ask_for_fix(const char* words, char* why, std::size_t bytes);

// fixes/: launches that wait are submitted before this returns. `handles_go`: what follows may give handles of kernels out again.
__attribute__((cold)) void submit_launches(bool handles_go);
// Of a launch that failed after its call had returned: its CUresult, once; else 0.
__attribute__((cold)) int take_launch_error();

// process/: decides whether this process becomes (or, after a fork, again becomes) one that records. `moment` says what the
// caller knows about where it is called from.
enum class Moment {
  kAnywhere,  // possibly inside a signal handler: no thread may be started here
  kPlain,     // in ordinary code
  kGpu,       // in a call that only a process worth tracing makes
};
bool begin_recording(Moment moment);
// The same for launches, also where one is counted that is left out.
bool begin_launch(const Hook& hook);
// False when hooks must only call through (HOSTPROBE_OFF, set-user-id, a program that is not a target).
bool hooks_enabled();
// For calls that show a process to be worth another look.
void look_for_target();
// The program is about to restrict its own system calls, often on pain of death, and perhaps those of all its threads: from
// then on no call of ours can be known to be harmless, so the trace ends here, complete, and none begins in a child.
void leave_before_seccomp();
// Registers the handlers of fork; before the first thread is made, as until then nobody can be in anybody's way. Not in a
// signal handler.
void watch_forks();
// From the key destructor, in its last round, on the ending thread: before its trace ends, and after.
void note_thread_is_ending(std::uint32_t tid);
void leave_with_last_thread(std::uint32_t tid);

}  // namespace hostprobe::probe
