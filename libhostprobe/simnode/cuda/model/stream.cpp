// The model of streams: see stream.h. Everything here runs with the node's lock held, which is released around effects.
#include "stream.h"

#include "context.h"
#include "device.h"
#include "node.h"
#include "node/priority.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <algorithm>
#include <cmath>

namespace simnode {

thread_local EffectSpan t_effect_span;

namespace {

enum class Step { kMoved, kEmpty, kNotYet, kBlocked, kBusy, kNotMine };

constexpr int64_t kPatienceNs = 1000000000;  // of a launch call that waits for a front that may wait for its caller

int64_t start_of(const Stream& stream, const Op& op) {
  if (!op.run) return op.immediate ? std::max(stream.tail_ns, op.submit_ns) : begin_ns_of(stream, op.submit_ns);
  const int64_t behind_ns = op.immediate ? 0 : g_node->settings.behind_ns;
  int64_t start = op.run->start_ns >= 0 ? op.run->start_ns : begin_ns_of(stream, op.submit_ns);
  for (uint32_t dependency : (*op.run->dependencies)[op.run_index])
    start = std::max(start, op.run->end_ns[dependency] + behind_ns);
  return start;
}

// The run of a graph begins where its first node begins.
void begin_run(const Stream& stream, const Op& op) {
  if (op.run && op.run->start_ns < 0) op.run->start_ns = begin_ns_of(stream, op.submit_ns);
}

void finish(Stream& stream, const Op& op, int64_t start_ns, int64_t duration_ns) {
  int64_t end_ns = start_ns + duration_ns;
  begin_run(stream, op);
  if (op.run) op.run->end_ns[op.run_index] = end_ns;
  if (op.kernel) stream.kernels.add(start_ns, end_ns);
  pass(stream, start_ns, end_ns);
  stream.launches.end(op.launch, stream.tail_ns);
  add_activity(op.label, stream.context->device->ordinal, stream.id, start_ns, end_ns);
}

void fix(Stream& stream, Moment& moment, int64_t submit_ns, int64_t duration_ns) {
  make_known(moment, std::max(stream.tail_ns, submit_ns) + duration_ns);
  stream.tail_ns = moment.at_ns;
}

void pop(Stream& stream) {
  stream.queue.pop_front();
  ++stream.left;
  if (stream.queue.empty()) stream.last_mark = nullptr;
  g_node->progress.notify_all();
}

CUresult run(const Op& op) {
  if (op.what != Op::What::kCallback) return op.effect();
  ProgramPriority priority;
  return op.effect();
}

// Runs the effect of the front without the lock. The op stays in the queue meanwhile, so nothing can overtake it.
void run_effect(Stream& stream, int64_t start_ns) {
  stream.running = true;
  Op& op = stream.queue.front();  // a deque does not move its elements when others are pushed
  begin_run(stream, op);
  if (op.kernel) op.duration_ns = stream.kernels.end_ns(start_ns, op.duration_ns) - start_ns;
  g_mutex.unlock();
  t_effect_span = {start_ns, start_ns + op.duration_ns};
  CUresult result = run(op);
  // A callback is the program's own and ends when it really ends; everything else lasts as long as it is modelled to.
  int64_t took_ns = (op.what == Op::What::kCallback ? now_ns() : t_effect_span.end_ns) - start_ns;
  g_mutex.lock();
  finish(stream, op, start_ns, std::max(took_ns, int64_t{0}));
  if (result != CUDA_SUCCESS) stream.context->fail(result);
  stream.running = false;
  pop(stream);
}

// Moves the front of the queue on if that is possible now. `wake_ns` is when to look again for kNotYet.
Step step(Stream& stream, bool is_worker, int64_t* wake_ns) {
  if (stream.queue.empty()) return Step::kEmpty;
  if (stream.running) return Step::kBusy;
  Op& op = stream.queue.front();
  switch (op.what) {
    case Op::What::kMark:
      fix(stream, *op.moment, op.submit_ns, op.duration_ns);
      pop(stream);
      return Step::kMoved;
    case Op::What::kWait:
      if (!op.moment->known) return Step::kBlocked;
      stream.tail_ns = std::max(stream.tail_ns, op.moment->at_ns);
      pop(stream);
      return Step::kMoved;
    case Op::What::kPoll:
      if (!op.arrived()) {
        *wake_ns = now_ns() + 20000;
        return Step::kNotYet;
      }
      stream.tail_ns = std::max(stream.tail_ns, op.arrival_ns ? op.arrival_ns() : now_ns());
      pop(stream);
      return Step::kMoved;
    case Op::What::kCallback:
    case Op::What::kWaiting:
      if (!is_worker && stream.has_worker) return Step::kNotMine;
      break;
    case Op::What::kWork:
      break;
  }
  int64_t start_ns = start_of(stream, op);
  if (!op.effect) {
    if (op.kernel) op.duration_ns = stream.kernels.end_ns(start_ns, op.duration_ns) - start_ns;
    finish(stream, op, start_ns, op.duration_ns);
    pop(stream);
    return Step::kMoved;
  }
  if (start_ns > now_ns()) {
    *wake_ns = start_ns;
    return Step::kNotYet;
  }
  run_effect(stream, start_ns);
  return Step::kMoved;
}

void* work_on(void* argument) {
  auto* stream = static_cast<Stream*>(argument);
  run_as_device();
  pthread_setname_np(pthread_self(), "simnode-stream");
  g_mutex.lock();
  while (!(stream->dying && stream->queue.empty())) {
    int64_t wake_ns = -1;
    switch (step(*stream, true, &wake_ns)) {
      case Step::kMoved:
        break;
      case Step::kEmpty:
        stream->work.wait(g_mutex);
        break;
      default:
        g_node->progress.wait(g_mutex, wake_ns);
    }
  }
  g_mutex.unlock();
  delete stream;
  return nullptr;
}

// Workers take no signals: a handler of the program must run on the program's threads.
bool start_worker(Stream& stream) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  bool started = pthread_create(&thread, &attributes, work_on, &stream) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

// Without a worker (no more threads allowed) the queue is still driven by threads that synchronise.
void wake_worker(Stream& stream) {
  if (!stream.has_worker) stream.has_worker = start_worker(stream);
  stream.work.notify_all();
}

// Moves a queue on as far as possible by the calling thread, then waits a little, at most until then. For threads that
// synchronise.
void drive(Stream* stream, WaitMode mode, int64_t until_ns = -1) {
  int64_t wake_ns = -1;
  Step moved = stream != nullptr ? step(*stream, false, &wake_ns) : Step::kBlocked;
  if (moved == Step::kMoved) return;
  if (mode == WaitMode::kBlock || moved == Step::kBlocked || moved == Step::kNotMine) {
    if (wake_ns < 0 || (until_ns >= 0 && until_ns < wake_ns)) wake_ns = until_ns;
    g_node->progress.wait(g_mutex, wake_ns);
    return;
  }
  g_mutex.unlock();
  if (mode == WaitMode::kSpin) spin_a_while();
  sched_yield();
  g_mutex.lock();
}

// The end of what is in the stream now, without adding to its clock.
MomentRef end_of(Stream& stream) {
  if (!stream.queue.empty()) return stream.last_mark != nullptr ? stream.last_mark : mark(stream, 0);
  auto moment = std::make_shared<Moment>();
  moment->known = true;
  moment->at_ns = stream.tail_ns;
  return moment;
}

// At the end of the stream; at once, where nothing is queued.
void put_mark(Stream& stream, const MomentRef& moment, int64_t submit_ns, int64_t duration_ns) {
  moment->stream = &stream;
  if (stream.queue.empty()) return fix(stream, *moment, submit_ns, duration_ns);
  Op op;
  op.what = Op::What::kMark;
  op.moment = moment;
  op.submit_ns = submit_ns;
  op.duration_ns = duration_ns;
  submit(stream, std::move(op));
}

void wait_known(const MomentRef& moment, WaitMode mode) {
  while (!moment->known) drive(moment->stream, mode);
}

}  // namespace

int64_t begin_ns_of(const Stream& stream, int64_t submit_ns) {
  const Settings& settings = g_node->settings;
  return std::max(stream.tail_ns + settings.behind_ns, submit_ns + settings.start_ns);
}

// The pause between two pieces of work is no idle time for those who look at the device: a queue that is full of short
// kernels is one stretch (usage.h).
void pass(Stream& stream, int64_t begin_ns, int64_t end_ns) {
  const bool behind = stream.tail_ns < begin_ns && begin_ns - stream.tail_ns <= g_node->settings.behind_ns;
  note_busy(*stream.context->device->usage, behind ? stream.tail_ns : begin_ns, end_ns);
  stream.tail_ns = std::max(stream.tail_ns, end_ns);
}

void submit_kernel(Stream& stream, int64_t submit_ns, int64_t duration_ns, const ActivityLabel& label) {
  const uint64_t launch = stream.launches.take(g_node->settings.queue);
  if (stream.queue.empty()) {
    int64_t begin_ns = begin_ns_of(stream, submit_ns);
    int64_t end_ns = stream.kernels.end_ns(begin_ns, duration_ns);
    stream.kernels.add(begin_ns, end_ns);
    pass(stream, begin_ns, end_ns);
    stream.launches.end(launch, end_ns);
    add_activity(label, stream.context->device->ordinal, stream.id, begin_ns, end_ns);
    return;
  }
  Op op;
  op.kernel = true;
  op.launch = launch;
  op.submit_ns = submit_ns;
  op.duration_ns = duration_ns;
  op.label = label;
  submit(stream, std::move(op));
}

void submit(Stream& stream, Op op) {
  bool was_empty = stream.queue.empty();
  bool is_mark = op.what == Op::What::kMark;
  MomentRef moment = is_mark ? op.moment : nullptr;
  stream.queue.push_back(std::move(op));
  stream.last_mark = moment;
  if (!was_empty) return;
  // What needs no effect and no waiting never enters the queue; run it down here instead of waking a thread for it.
  int64_t wake_ns;
  const Op& front = stream.queue.front();
  if (!front.effect && step(stream, false, &wake_ns) == Step::kMoved) return;
  wake_worker(stream);
}

// Waking a thread that would find the work done by the time it runs costs more than most copies, so nobody is woken
// unless others have queued more behind it.
void submit_and_wait(Stream& stream, Op op, WaitMode mode) {
  stream.queue.push_back(std::move(op));
  stream.last_mark = nullptr;
  MomentRef end = end_of(stream);
  wait_known(end, mode);
  if (!stream.queue.empty()) wake_worker(stream);
  wait_for(end, mode);
}

void submit_wait(Stream& stream, const MomentRef& moment) {
  if (moment == nullptr || (moment->known && moment->at_ns <= stream.tail_ns && stream.queue.empty())) return;
  if (moment->known && stream.queue.empty()) {
    stream.tail_ns = moment->at_ns;
    return;
  }
  Op op;
  op.what = Op::What::kWait;
  op.moment = moment;
  submit(stream, std::move(op));
}

MomentRef mark(Stream& stream, int64_t submit_ns) {
  auto moment = std::make_shared<Moment>();
  put_mark(stream, moment, submit_ns, 0);
  return moment;
}

// The device gets to it when what is before it has ended, without the pause before a kernel; into an empty stream it needs as
// long as a kernel.
void record_at_end(Stream& stream, const MomentRef& moment, int64_t submit_ns) {
  const Settings& settings = g_node->settings;
  put_mark(stream, moment, submit_ns + settings.event_start_ns, settings.event_device_ns);
}

static void wait_for_end(Stream& stream, Stream& other, int64_t submit_ns) {
  if (other.queue.empty() && other.tail_ns <= submit_ns) return;
  submit_wait(stream, end_of(other));
}

// The legacy default stream waits for all blocking streams of its context, and they for it.
void order_with_legacy(Stream& stream, int64_t submit_ns) {
  if (!stream.blocking()) return;
  Context& context = *stream.context;
  if (!stream.legacy) {
    if (context.legacy != nullptr) wait_for_end(stream, *context.legacy, submit_ns);
    return;
  }
  for (Stream* other : context.streams)
    if (other != &stream && other->blocking()) wait_for_end(stream, *other, submit_ns);
}

bool reached(const MomentRef& moment) {
  if (!moment->known && moment->stream != nullptr) {
    int64_t wake_ns;
    while (!moment->known && step(*moment->stream, false, &wake_ns) == Step::kMoved) continue;
  }
  return moment->known && moment->at_ns <= now_ns();
}

bool has_room(const Stream& stream, int64_t submit_ns) { return stream.launches.free_ns() <= submit_ns; }

// By handle, because the stream may go while the lock is released. A front that waits for a host function, a value in memory or
// another stream may wait for what the caller does next: a real driver hangs then, and this one goes on after a second.
CUresult wait_for_room(CUstream handle) {
  uint64_t left = UINT64_MAX;
  int64_t until_ns = 0;
  for (;;) {
    Stream* stream;
    SIMNODE_TRY(find_stream(handle, &stream));
    const WaitMode mode = stream->context->wait_mode();
    const int64_t now = now_ns(), free_ns = stream->launches.free_ns();
    if (free_ns <= now || stream->stuck_at == stream->left) return CUDA_SUCCESS;
    if (free_ns != LaunchQueue::kUnknown) {
      g_mutex.unlock();
      wait_until(free_ns, mode);
      g_mutex.lock();
      continue;
    }
    if (stream->queue.empty()) return CUDA_SUCCESS;
    const bool moves = stream->left != left || stream->queue.front().what == Op::What::kWork;
    if (moves) until_ns = now + kPatienceNs;
    left = stream->left;
    if (now >= until_ns) stream->stuck_at = left;
    drive(stream, mode, until_ns);
  }
}

bool idle(Stream& stream) { return stream.queue.empty() && stream.tail_ns <= now_ns(); }

void wait_for(MomentRef moment, WaitMode mode) {
  wait_known(moment, mode);
  int64_t at_ns = moment->at_ns;
  if (at_ns <= now_ns()) return;
  g_mutex.unlock();
  wait_until(at_ns, mode);
  g_mutex.lock();
}

void wait_for_all(Context& context) {
  std::vector<MomentRef> ends;
  for (Stream* stream : context.streams) ends.push_back(end_of(*stream));
  WaitMode mode = context.wait_mode();
  for (MomentRef& end : ends) wait_for(end, mode);
}

void stall_allocation(Context& context) {
  double stall_us = g_node->fault_amount(FaultKind::kAllocStall);
  if (stall_us <= 0) return;
  wait_for_all(context);
  g_mutex.unlock();
  spin_until(now_ns() + std::llround(stall_us * 1000));
  g_mutex.lock();
}

Stream* make_stream(Context& context, unsigned flags, int priority) {
  static uint64_t next_id = 1;
  auto* stream = new Stream;
  stream->context = &context;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = next_id++;
  stream->handle = static_cast<CUstream>(g_node->handles.add(Kind::kStream, stream));
  stream->kernels.start(context.device->kernels, g_node->settings, stream->id);
  context.streams.push_back(stream);
  return stream;
}

// The handle is gone at once; work in the queue still runs, as CUDA promises, and then the worker frees the stream.
void destroy_stream(Stream& stream) {
  auto& streams = stream.context->streams;
  streams.erase(std::remove(streams.begin(), streams.end(), &stream), streams.end());
  g_node->handles.remove(stream.handle);
  stream.kernels.leave();
  while (!stream.has_worker && !stream.queue.empty()) drive(&stream, WaitMode::kYield);
  stream.dying = true;
  if (!stream.has_worker) {
    delete &stream;
    return;
  }
  stream.work.notify_all();
}

CUresult find_stream(CUstream handle, Stream** stream) {
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    *stream = &context->legacy_stream();
    return CUDA_SUCCESS;
  }
  if (handle == CU_STREAM_PER_THREAD) {
    *stream = &context->per_thread_stream();
    return CUDA_SUCCESS;
  }
  *stream = g_node->find<Stream>(handle);
  if (*stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if ((*stream)->context->failure != CUDA_SUCCESS) return (*stream)->context->failure;
  return CUDA_SUCCESS;
}

}  // namespace simnode
