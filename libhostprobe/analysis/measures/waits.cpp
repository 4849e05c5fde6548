// waits.cpp: see waits.h.
#include "waits.h"

#include <algorithm>
#include <array>

#include "answer/file_name.h"

namespace hostprobe::analysis {
namespace {

constexpr double kMsPerNs = 1e-6;

// Libraries through which others wait: std::condition_variable::wait hides who really does.
bool is_between(std::string_view library) {
  return library.starts_with("libstdc++") || library.starts_with("libc.so") || library.starts_with("libpthread") ||
         library.starts_with("libhostprobe") || library.starts_with("libc++");
}

struct PythonFrame {
  std::string_view function;
  std::string_view file;  // base name
};

PythonFrame split_frame(std::string_view text) {
  const auto open = text.rfind(" (");
  if (open == std::string_view::npos) return {text, {}};
  std::string_view file = text.substr(open + 2);
  file = file.substr(0, file.rfind(':'));
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) file = file.substr(slash + 1);
  return {text.substr(0, open), file};
}

// The standard library's own steps on the way into a wait; the frame outside of them says what is waited for.
bool is_way_into_wait(const PythonFrame& frame) {
  static constexpr std::string_view kThreading[] = {"wait", "wait_for", "acquire", "__enter__",
                                                    "_wait_for_tstate_lock"};
  if (frame.file == "connection.py" || frame.file == "selectors.py") return true;
  if (frame.file != "threading.py") return false;
  const auto dot = frame.function.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? frame.function : frame.function.substr(dot + 1);
  return std::find(std::begin(kThreading), std::end(kThreading), name) != std::end(kThreading);
}

std::vector<WaitPlace> heaviest_first(std::map<std::string, WaitPlace> places) {
  std::vector<WaitPlace> sorted;
  for (auto& [text, place] : places) sorted.push_back(std::move(place));
  std::sort(sorted.begin(), sorted.end(),
            [](const WaitPlace& l, const WaitPlace& r) { return l.total_ms > r.total_ms; });
  return sorted;
}

void add_place(std::map<std::string, WaitPlace>& places, const std::string& text, std::uint64_t count, double ns) {
  WaitPlace& place = places[text];
  place.text = text;
  place.count += count;
  place.total_ms += ns * kMsPerNs;
}

}  // namespace

CallKind call_kind(HookRole role) {
  switch (role) {
    case HookRole::kSleep:
      return CallKind::kSleep;
    case HookRole::kChild:
      return CallKind::kChild;
    case HookRole::kRead:
    case HookRole::kPoll:
      return CallKind::kRead;
    case HookRole::kWrite:
      return CallKind::kWrite;
    case HookRole::kSemaphore:
      return CallKind::kSemaphore;
    case HookRole::kLock:
      return CallKind::kLock;
    case HookRole::kLaunchCallback:
      return CallKind::kCallback;
    default:
      return CallKind::kOther;
  }
}

std::string wait_site_function(const std::string& function, bool on_file) {
  const bool checked = function.starts_with("__") && function.ends_with("_chk");
  return (checked ? function.substr(2, function.size() - 6) : function) + (on_file ? " (file)" : "");
}

std::string telling_frame(const std::vector<std::string_view>& python) {
  std::string_view innermost;
  for (const std::string_view text : python) {
    if (text.empty()) continue;
    if (innermost.empty()) innermost = text;
    if (!is_way_into_wait(split_frame(text))) return std::string(text);
  }
  return std::string(innermost);
}

std::string telling_frame(const Trace& trace, const Stack& stack) {
  std::vector<std::string_view> python;
  for (const std::uint32_t id : stack.python) python.push_back(trace.strings.text(id));
  return telling_frame(python);
}

Waits::Call& Waits::call_of(const Event& event) {
  if (calls_track_ != event.track) calls_.clear();
  calls_track_ = event.track;
  const auto [call, fresh] = calls_.try_emplace({event.function, event.site, event.on_file});
  if (!fresh) return call->second;
  const Module* module = trace_.module_at(event.site, event.end_ticks);
  const std::string library = module == nullptr ? "unknown" : base_name(module->path);
  const std::string function = wait_site_function(event.function->name, event.on_file);
  const Role role = event.track->role;
  Site& site = sites_[{function, library, role}];
  site.answer.function = function;
  site.answer.library = library;
  site.answer.role = role;
  site.answer.kind = call_kind(event.function->role);
  site.called = event.function->role;
  site.answer.in_python = is_python_library(library);
  site.answer.threads.insert(event.track->key());
  call->second = {&site, &site.addresses[event.site]};
  return call->second;
}

void Waits::add_call(const Event& event) {
  if (event.function->site < 0) return;
  const Call& call = call_of(event);
  if (event.stack != 0) call.address->stacks[event.stack].add(event.duration_ns);
  if (event.counted) return;
  call.site->answer.time.add(event.duration_ns);
  call.address->all.add(event.duration_ns);
  call.site->answer.timed_out += event.timed_out;
  if (event.wake_ns < 0) return;
  call.site->answer.wake.add(event.wake_ns);
  if (event.run_queue_ns >= 0) {
    call.site->answer.run_queue.add(event.run_queue_ns);
    call.site->answer.rest.add(event.wake_ns - event.run_queue_ns);
  }
  add_waker(call.site->answer, event.waker, 1);
}

void Waits::add_counter(const Event& event) {
  const Call& call = call_of(event);
  call.site->answer.timed_out += event.timeouts;
  call.site->answer.time.add(event.distribution->time);
  call.address->all.add(event.duration_ns, event.count);
  call.site->answer.wake.add(event.distribution->wake);
  if (const std::uint64_t wakes = event.distribution->wake.count(); wakes > 0)
    add_waker(call.site->answer, event.waker, wakes);
}

void Waits::add_waker(WaitSite& site, const Track* waker, std::uint64_t times) {
  if (waker == nullptr) {
    site.unknown_wakers += times;
  } else {
    site.wakers[waker->role] += times;
    site.waker_threads[waker->key()] += times;
  }
}

void Waits::merge(Waits&& other) {
  calls_.clear();
  for (auto& [key, site] : other.sites_) {
    const auto [own, fresh] = sites_.try_emplace(key);
    if (fresh) {
      own->second = std::move(site);
      continue;
    }
    WaitSite& answer = own->second.answer;
    answer.time.add(site.answer.time);
    answer.wake.add(site.answer.wake);
    answer.run_queue.add(site.answer.run_queue);
    answer.rest.add(site.answer.rest);
    answer.timed_out += site.answer.timed_out;
    answer.threads.merge(site.answer.threads);
    answer.unknown_wakers += site.answer.unknown_wakers;
    for (const auto& [role, times] : site.answer.wakers) answer.wakers[role] += times;
    for (const auto& [thread, times] : site.answer.waker_threads) answer.waker_threads[thread] += times;
    for (const auto& [at, address] : site.addresses) {
      Address& mine = own->second.addresses[at];
      mine.all.add(address.all);
      for (const auto& [stack, sum] : address.stacks) mine.stacks[stack].add(sum);
    }
  }
}

// One code address is one line of code, so what its place says holds for all its calls. A stack speaks for itself only.
void Waits::tell_purpose(Site& site, const Address& address, const CodePlace& place, Symbols& symbols) const {
  const WaitPurpose by_caller = purpose_of_caller(place, site.called);
  if (by_caller != WaitPurpose::kUnknown) {
    site.answer.purpose_ms[by_caller] += address.all.ns * kMsPerNs;
    return;
  }
  std::map<WaitPurpose, double> by_stack;
  for (const auto& [id, sum] : address.stacks) {
    const auto stack = trace_.stacks.find(id - 1u);
    if (stack == trace_.stacks.end()) continue;
    by_stack[purpose_of_stack(trace_, stack->second, symbols)] += sum.ns * kMsPerNs;
  }
  for (const auto& [purpose, ms] : by_stack) site.answer.purpose_ms[purpose] += ms;
}

void Waits::name_stack_callers(const Site& site, std::map<std::string, WaitPlace>& places, Symbols& symbols) const {
  for (const auto& [at, address] : site.addresses) {
    for (const auto& [id, sum] : address.stacks) {
      const auto stack = trace_.stacks.find(id - 1u);
      if (stack == trace_.stacks.end()) continue;
      for (const std::uint64_t frame : stack->second.native) {
        const CodePlace place = symbols.place(trace_, frame);
        if (is_between(place.library)) continue;
        add_place(places, place.caller_text(), sum.count, sum.ns);
        break;
      }
    }
  }
}

void Waits::name_code(Site& site, Symbols& symbols) const {
  std::map<std::string, WaitPlace> places;
  for (const auto& [at, address] : site.addresses) {
    const CodePlace place = symbols.place(trace_, at);
    tell_purpose(site, address, place, symbols);
    if (!is_between(site.answer.library)) add_place(places, place.caller_text(), address.all.count, address.all.ns);
  }
  if (is_between(site.answer.library)) name_stack_callers(site, places, symbols);
  site.answer.code = heaviest_first(std::move(places));
}

void Waits::name_stacks(Site& site) const {
  std::map<std::string, WaitPlace> places;
  double heaviest_ns = -1;
  for (const auto& [at, address] : site.addresses) {
    for (const auto& [id, sum] : address.stacks) {
      const auto stack = trace_.stacks.find(id - 1u);
      if (stack == trace_.stacks.end()) continue;
      site.answer.sampled_ms += sum.ns * kMsPerNs;
      const std::string frame = telling_frame(trace_, stack->second);
      if (!frame.empty()) add_place(places, frame, sum.count, sum.ns);
      if (sum.ns > heaviest_ns) site.heaviest_stack = id;
      heaviest_ns = std::max(heaviest_ns, sum.ns);
    }
  }
  site.answer.python = heaviest_first(std::move(places));
}

std::vector<WaitSite> Waits::finish(Symbols& symbols) {
  std::vector<WaitSite> answers;
  for (auto& [key, site] : sites_) {
    name_code(site, symbols);
    name_stacks(site);
    if (site.heaviest_stack != 0) {
      site.answer.stack = stack_text(trace_, trace_.stacks.at(site.heaviest_stack - 1u), symbols);
    }
    answers.push_back(std::move(site.answer));
  }
  sites_.clear();
  std::sort(answers.begin(), answers.end(),
            [](const WaitSite& l, const WaitSite& r) { return l.time.total_ns() > r.time.total_ns(); });
  return answers;
}

}  // namespace hostprobe::analysis
