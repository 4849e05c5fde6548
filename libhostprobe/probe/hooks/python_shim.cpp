// python_shim.cpp: see python_shim.h. What runs inside the interpreter makes no sound: an error of a call is taken back, and
// what could not be done is not recorded.
#include "probe/hooks/python_shim.h"

#include <errno.h>
#include <pthread.h>

#include <atomic>

#include "probe/hooks/python_calls.h"
#include "probe/hooks/steps.h"
#include "probe/record/hook.h"
#include "probe/record/limits.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/sanitizer.h"

HP_ROW(kPython, kGarbage, hostprobe_gc, "", 0, 0, "generation", "collected", "uncollectable", "blocks", "requested")

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kSoonNs = 1000000;     // an interpreter starts within 20 ms
constexpr std::uint64_t kLaterNs = 250000000;  // or nobody knows when
constexpr unsigned kSoonTimes = 500;
constexpr std::uint64_t kStepsAuto = 0;  // as options.def counts them

HP_KEPT_BY_CHILDREN PythonCalls g_python{};
HP_KEPT_BY_CHILDREN bool g_found = false;
// A forked child has its parent's interpreter, and our functions in it.
HP_KEPT_BY_CHILDREN std::atomic<bool> g_is_in{false};
HP_KEPT_BY_CHILDREN std::atomic<bool> g_watches_optimizers{false};
HP_OF_PROCESS bool g_asked = false;
HP_OF_PROCESS unsigned g_times = 0;
HP_OF_PROCESS std::uint64_t g_next_look_ns = 0;

// Functions of gc and sys that a collection is asked about; kept as long as the interpreter.
struct CollectorCalls {
  PythonObject *count, *threshold, *is_enabled, *blocks;
};
HP_KEPT_BY_CHILDREN CollectorCalls g_collector{};

constinit thread_local std::uint64_t t_collection_began = 0;
constinit thread_local bool t_collection_requested = false;

PythonObject* nothing() { return g_python.value(""); }

// ---- steps ----

PythonObject* on_step(PythonObject*, PythonObject* arguments) {
  int saved = errno;
  note_optimizer_step(g_python.item(arguments, 0));
  g_python.clear_error();
  errno = saved;
  return nothing();
}
HP_KEPT_BY_CHILDREN PythonMethod g_step_method{"hostprobe_note_step", on_step, kTakesTuple, nullptr};

// torch.compile follows a hook that is written in Python, and leaves the call out, where it would warn of one written in C.
constexpr char kStepHook[] =
    "def hostprobe_step(optimizer, args, kwargs):\n"
    "    if not is_compiling():\n"
    "        note(optimizer)\n";

// `compiler` and `optimizer` are modules of torch. True: from now on steps are told.
bool register_step_hook(PythonObject* compiler, PythonObject* optimizer) {
  PythonObject* globals = g_python.dict();
  PythonObject* note = g_python.function(&g_step_method, nullptr, nullptr);
  PythonObject* is_compiling = g_python.attribute(compiler, "is_compiling");
  PythonObject* join = g_python.attribute(optimizer, "register_optimizer_step_post_hook");
  PythonObject* code = g_python.compile(kStepHook, "hostprobe", kFileInput);
  PythonObject *done = nullptr, *handle = nullptr;
  if (globals != nullptr && note != nullptr && is_compiling != nullptr && join != nullptr && code != nullptr &&
      g_python.put(globals, "__builtins__", g_python.builtins()) == 0 && g_python.put(globals, "note", note) == 0 &&
      g_python.put(globals, "is_compiling", is_compiling) == 0)
    done = g_python.evaluate(code, globals, globals);
  if (done != nullptr) handle = g_python.call(join, g_python.look_up(globals, "hostprobe_step"), nullptr);
  const bool is_registered = handle != nullptr;
  g_python.drop_all(handle, done, code, join, is_compiling, note, globals);
  return is_registered;
}

// Modules are in the list before they are whole: then an attribute is missing, and the next collection looks again.
void look_for_torch() {
  PythonObject* modules = g_python.modules();
  PythonObject* optimizer = g_python.look_up(modules, "torch.optim.optimizer");
  PythonObject* compiler = optimizer == nullptr ? nullptr : g_python.look_up(modules, "torch.compiler");
  if (compiler == nullptr || g_watches_optimizers.exchange(true, std::memory_order_relaxed)) return;
  if (!register_step_hook(compiler, optimizer)) g_watches_optimizers.store(false, std::memory_order_relaxed);
}

// ---- garbage collections ----

std::uint64_t number_in(PythonObject* info, const char* name) {
  PythonObject* number = g_python.look_up(info, name);
  return number == nullptr ? 0 : static_cast<std::uint64_t>(g_python.number(number));
}

// What a function gives that takes nothing; of a tuple its first number. < 0: it did not say.
long number_of(PythonObject* function, bool in_tuple) {
  PythonObject* answer = function == nullptr ? nullptr : g_python.call(function, nullptr);
  PythonObject* number = answer != nullptr && in_tuple ? g_python.item(answer, 0) : answer;
  const long value = number == nullptr ? -1 : g_python.number(number);
  if (answer == nullptr || value < 0) g_python.clear_error();
  g_python.drop_all(answer);
  return value;
}

// The interpreter begins one itself only while the collector is on, and once more objects were made than the threshold of the youngest
// generation says, and as it ends. So the program has asked for any other. Nothing is asked about the youngest, which are many.
bool is_requested(PythonObject* info) {
  if (number_in(info, "generation") == 0 || g_python.is_finalizing() != 0) return false;
  const long enabled = number_of(g_collector.is_enabled, false), threshold = number_of(g_collector.threshold, true);
  const long count = number_of(g_collector.count, true);
  if (enabled < 0 || threshold < 0 || count < 0) return false;
  return enabled == 0 || threshold == 0 || count <= threshold;
}

// Of counting the blocks that live: only the holder of the interpreter's lock does.
struct BlockCount {
  std::uint64_t again_ticks;
  std::uint64_t
      cost_ticks;  // of the next one, at the price of the cheapest so far: the others were kept off their CPU meanwhile
  double ticks_of_block;
};
HP_KEPT_BY_CHILDREN BlockCount g_block_count{};

void note_cost(std::uint64_t blocks, std::uint64_t now, std::uint64_t own) {
  BlockCount& count = g_block_count;
  const double price = static_cast<double>(own) / static_cast<double>(blocks);
  if (count.ticks_of_block == 0 || price < count.ticks_of_block) count.ticks_of_block = price;
  count.cost_ticks = static_cast<std::uint64_t>(count.ticks_of_block * static_cast<double>(blocks));
  const std::uint64_t pause = 1000 * count.cost_ticks, least = g_limits.stack_interval_ticks;
  count.again_ticks = now + (pause > least ? pause : least);
  count_own_ticks(own);
}

// How many blocks of memory live behind a collection of so many ticks; 0: not counted. The interpreter looks at each of its pools for it,
// some milliseconds where there are many, so this takes a thousandth of the time at most, or half a percent of the collection's.
std::uint64_t living_blocks(std::uint64_t generation, std::uint64_t now, std::uint64_t length) {
  const bool is_dear = length < 200 * g_block_count.cost_ticks;
  if (generation == 0 || (now < g_block_count.again_ticks && (is_dear || g_block_count.cost_ticks == 0))) return 0;
  const long blocks = number_of(g_collector.blocks, false);
  if (blocks <= 0) return 0;
  note_cost(static_cast<std::uint64_t>(blocks), now, ticks() - now);
  return static_cast<std::uint64_t>(blocks);
}

// Where it was asked for, or where the object was made that was one too many.
std::uint16_t stack_of_collection(std::uint64_t now, std::uint64_t length, bool requested) {
  static constexpr char kSites[2] = {};
  if (length < g_limits.short_stack_ticks || !trace_is_open()) return 0;
  return sample_stack(now, &kSites[requested ? 1 : 0], length);
}

void end_collection(PythonObject* info) {
  const std::uint64_t began = t_collection_began, end = ticks();
  t_collection_began = 0;
  if (began == 0 || !recording_or_begun(Moment::kPlain)) return;
  mark_used(g_hook_hostprobe_gc);
  const std::uint64_t generation = number_in(info, "generation"), collected = number_in(info, "collected");
  const std::uint64_t uncollectable = number_in(info, "uncollectable"),
                      blocks = living_blocks(generation, end, end - began);
  const std::uint16_t stack = stack_of_collection(end, end - began, t_collection_requested);
  Record* record = reserve_record();
  if (record == nullptr) return;
  record->begin_ticks = began, record->end_ticks = end;
  record->a = generation, record->b = collected, record->c = uncollectable;
  record->d = blocks, record->e = t_collection_requested ? 1 : 0;
  commit_record(record, g_hook_hostprobe_gc, 0, stack);
}

// (phase, info): "start" or "stop".
PythonObject* on_collection(PythonObject*, PythonObject* arguments) {
  int saved = errno;
  PythonObject* phase = g_python.item(arguments, 0);
  if (phase != nullptr && g_python.compare(phase, "start") == 0) {
    t_collection_requested = is_requested(g_python.item(arguments, 1));
    t_collection_began = ticks();
  } else if (phase != nullptr) {
    end_collection(g_python.item(arguments, 1));
    if (g_options.steps == kStepsAuto && !g_watches_optimizers.load(std::memory_order_relaxed)) look_for_torch();
  }
  g_python.clear_error();
  errno = saved;
  return nothing();
}
HP_KEPT_BY_CHILDREN PythonMethod g_gc_method{"hostprobe_note_collection", on_collection, kTakesTuple, nullptr};

void keep_collector_calls(PythonObject* gc) {
  PythonObject* sys = g_python.import("sys");
  g_collector = {g_python.attribute(gc, "get_count"), g_python.attribute(gc, "get_threshold"),
                 g_python.attribute(gc, "isenabled"),
                 sys == nullptr ? nullptr : g_python.attribute(sys, "getallocatedblocks")};
  g_python.clear_error();
  g_python.drop_all(sys);
}

// First of the callbacks, so that what others take in theirs is no part of the pause.
bool join_callbacks() {
  PythonObject* gc = g_python.import("gc");
  PythonObject* callbacks = gc == nullptr ? nullptr : g_python.attribute(gc, "callbacks");
  PythonObject* function = callbacks == nullptr ? nullptr : g_python.function(&g_gc_method, nullptr, nullptr);
  if (function != nullptr) keep_collector_calls(gc);
  const bool is_in = function != nullptr && g_python.insert(callbacks, 0, function) == 0;
  g_python.drop_all(function, callbacks, gc);
  return is_in;
}

// ---- calls on the interpreter's main thread, which holds its lock ----

using Work = int (*)(void*);

// The thread is about to take the lock of a module that it imports, and has put itself down for that. An import in between would strike it out,
// and the program's own would fail with a KeyError (CPython before 3.13, gh-106176).
bool is_taking_import_lock() {
  PythonObject* importlib = g_python.look_up(g_python.modules(), "_frozen_importlib");
  PythonObject* waiting = importlib == nullptr ? nullptr : g_python.attribute(importlib, "_blocking_on");
  PythonObject* get = waiting == nullptr ? nullptr : g_python.attribute(waiting, "get");
  PythonObject *thread = g_python.value("k", static_cast<unsigned long>(pthread_self())), *none = nothing();
  PythonObject* found = get == nullptr || thread == nullptr ? nullptr : g_python.call(get, thread, nullptr);
  const bool is_taking = found != nullptr && found != none;
  g_python.drop_all(found, none, thread, get, waiting);
  g_python.clear_error();
  return is_taking;
}

int do_between_imports(void* work);

bool ask(Work work) { return g_python.add_pending(do_between_imports, reinterpret_cast<void*>(work)) == 0; }

int do_between_imports(void* work) {
  int saved = errno;
  const bool put_off = is_taking_import_lock() && ask(reinterpret_cast<Work>(work));
  errno = saved;
  return put_off ? 0 : reinterpret_cast<Work>(work)(nullptr);
}

int enter(void*) {
  int saved = errno;
  if (!g_is_in.exchange(true, std::memory_order_acq_rel)) {
    if (join_callbacks())
      mark_used(g_hook_hostprobe_gc);
    else
      g_is_in.store(false, std::memory_order_release);
  }
  g_python.clear_error();
  errno = saved;
  return 0;
}

std::uint64_t later(std::uint64_t now_ns) {
  g_next_look_ns = now_ns + (g_times++ < kSoonTimes ? kSoonNs : kLaterNs);
  return g_next_look_ns;
}

}  // namespace

void find_python() {
  if (!g_found && g_options.python && !g_has_sanitizer) g_found = find_python_calls(g_python);
}

bool call_in_python(int (*work)(void*)) {
  return g_is_in.load(std::memory_order_acquire) && g_python.is_initialized() != 0 && g_python.is_finalizing() == 0 &&
         ask(work);
}

const PythonCalls& python_calls() { return g_python; }

const char* python_obstacle() {
  if (!g_options.python)
    return "HOSTPROBE_PYTHON=0 keeps hostprobe out of the interpreter; start the program without it";
  if (!g_found) return "no Python (CPython 3.8 or later) was found in this process, and a window needs PyTorch in one";
  if (g_python.is_finalizing() != 0) return "its interpreter is ending";
  if (!g_is_in.load(std::memory_order_acquire))
    return "its interpreter has not let hostprobe in yet; try again in a second";
  return nullptr;
}

std::uint64_t ask_python(std::uint64_t now_ns) {
  if (!g_found || g_asked) return kNever;
  if (now_ns < g_next_look_ns) return g_next_look_ns;
  g_asked = g_is_in.load(std::memory_order_acquire) || g_python.is_finalizing() != 0;
  if (g_is_in.load(std::memory_order_relaxed)) mark_used(g_hook_hostprobe_gc);
  if (g_asked) return kNever;
  if (g_python.is_initialized() == 0) return later(now_ns);
  g_asked = ask(enter);
  return g_asked ? kNever : later(now_ns);
}

}  // namespace hostprobe::probe
