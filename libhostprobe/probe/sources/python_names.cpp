// python_names.cpp: see python_names.h. What runs inside the interpreter makes no sound: an error of a call is taken back.
#include "probe/sources/python_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "probe/hooks/python_calls.h"
#include "probe/hooks/python_shim.h"
#include "probe/record/chunk.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

// Of the threads begun last. Only what is in their dictionaries: properties are the program's code.
constexpr char kScript[] =
    "def hostprobe_thread_names(active):\n"
    "    names = []\n"
    "    for thread in list(active.values())[-32:]:\n"
    "        tid, name = thread.__dict__.get('_native_id'), thread.__dict__.get('_name')\n"
    "        if type(tid) is int and type(name) is str:\n"
    "            whole = name[:60].replace('\\n', ' ').encode('utf-8', 'replace').decode()\n"
    "            names.append(f'{tid} {whole}')\n"
    "    return '\\n'.join(names)\n";

constexpr std::uint64_t kPauseNs = 1000000000;
constexpr unsigned kMostNames = 128;  // of a process

enum State : unsigned { kIdle, kAsked, kAnswered };
HP_OF_PROCESS std::atomic<unsigned> g_state{kIdle};
HP_OF_PROCESS char g_answer[32 * 72];
HP_OF_PROCESS std::uint64_t g_newest_ticks = 0, g_next_ns = 0;

// By what is in its line.
struct Noted {
  std::uint64_t hashes[kMostNames];
  unsigned count;
};
HP_OF_PROCESS Noted g_noted{};

// ---- on the interpreter's main thread ----

// Made anew each time: an embedded interpreter may have ended since, and another one begun. Null: it cannot be.
PythonObject* script(const PythonCalls& python) {
  PythonObject* globals = python.dict();
  PythonObject* code = python.compile(kScript, "hostprobe", kFileInput);
  PythonObject* done = nullptr;
  if (globals != nullptr && code != nullptr && python.put(globals, "__builtins__", python.builtins()) == 0)
    done = python.evaluate(code, globals, globals);
  const bool is_made = done != nullptr;
  python.drop_all(done, code);
  if (is_made) return globals;
  python.drop_all(globals);
  return nullptr;
}

PythonObject* names(const PythonCalls& python) {
  PythonObject* threading = python.look_up(python.modules(), "threading");
  PythonObject* active = threading == nullptr ? nullptr : python.attribute(threading, "_active");
  PythonObject* globals = active == nullptr ? nullptr : script(python);
  PythonObject* function = globals == nullptr ? nullptr : python.look_up(globals, "hostprobe_thread_names");
  PythonObject* answer = function == nullptr ? nullptr : python.call(function, active, nullptr);
  python.drop_all(globals, active);
  return answer;
}

int answer(void*) {
  const int saved = errno;
  const PythonCalls& python = python_calls();
  PythonObject* all = names(python);
  long bytes = 0;
  const char* text = all == nullptr ? nullptr : python.text(all, &bytes);
  const std::size_t most = sizeof g_answer - 1;
  const std::size_t size = text == nullptr                          ? 0
                           : static_cast<std::size_t>(bytes) < most ? static_cast<std::size_t>(bytes)
                                                                    : most;
  if (size != 0) memcpy(g_answer, text, size);
  g_answer[size] = 0;
  python.drop_all(all);
  python.clear_error();
  g_state.store(kAnswered, std::memory_order_release);
  errno = saved;
  return 0;
}

// ---- on the writer thread ----

std::uint64_t hash_of(const char* text, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3;
  return hash;
}

bool is_new(const char* line, std::size_t size) {
  const std::uint64_t hash = hash_of(line, size);
  for (unsigned i = 0; i < g_noted.count; ++i)
    if (g_noted.hashes[i] == hash) return false;
  if (g_noted.count == kMostNames) return false;
  g_noted.hashes[g_noted.count++] = hash;
  return true;
}

// "TID NAME" in each line.
void note_answer() {
  char* rest = nullptr;
  for (char* line = strtok_r(g_answer, "\n", &rest); line != nullptr; line = strtok_r(nullptr, "\n", &rest)) {
    char* name = nullptr;
    const std::size_t size = strlen(line);
    const std::uint64_t tid = strtoull(line, &name, 10);
    if (*name == ' ' && is_new(line, size)) note_event(kEventThreadName, 0, tid, 0, name + 1);
  }
}

std::uint64_t newest_thread_ticks() {
  std::uint64_t newest = 0;
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    const std::uint64_t begun = std::atomic_ref(g_segment.threads[i].start_ticks).load(std::memory_order_relaxed);
    if (begun > newest) newest = begun;
  }
  return newest;
}

}  // namespace

void note_python_names(const Round& round) {
  const unsigned state = g_state.load(std::memory_order_acquire);
  if (state == kAnswered) {
    note_answer();
    g_state.store(kIdle, std::memory_order_relaxed);
  }
  if (state == kAsked || round.last || round.now_ns < g_next_ns || g_noted.count == kMostNames) return;
  const std::uint64_t newest = newest_thread_ticks();
  if (newest == g_newest_ticks) return;
  g_next_ns = round.now_ns + kPauseNs;
  g_state.store(kAsked, std::memory_order_relaxed);
  if (call_in_python(answer))
    g_newest_ticks = newest;
  else
    g_state.store(kIdle, std::memory_order_relaxed);
}

}  // namespace hostprobe::probe
