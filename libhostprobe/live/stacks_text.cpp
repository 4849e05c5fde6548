// stacks_text.cpp: see stacks_text.h.
#include "stacks_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/json_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

using Json = JsonValue;

std::string title(pid_t pid, const std::optional<int>& rank) {
  return rank ? fmt::format("rank {}", *rank) : fmt::format("process {}", pid);
}

std::string since_text(double since_s) { return duration_text(1e9 * since_s); }

std::string doing_text(const ThreadStack& thread) {
  if (!thread.unread.empty()) return thread.unread;
  std::string text = thread.call.empty() ? "runs code without names" : "in " + printable(thread.call);
  if (thread.wait)
    text += fmt::format(", waits in {} of {} since {}", printable(thread.wait->function),
                        printable(thread.wait->library), since_text(thread.wait->since_s));
  if (thread.state == 'R') text += ", on a CPU or ready for one";
  if (thread.state == 'T') text += ", stopped by a signal";
  return text;
}

std::string processes_text(const StacksAnswer& answer) {
  std::string text;
  for (const ProcessStacks& process : answer.processes) {
    text += fmt::format("{}{}: {} threads, {}\n", title(process.pid, process.rank),
                        process.rank ? fmt::format(" (process {})", process.pid) : "", process.threads.size(),
                        printable(process.command));
    if (!process.unread.empty()) text += fmt::format("  {}\n", printable(process.unread));
    for (const ThreadStack& thread : process.threads)
      if (thread.tid == static_cast<std::uint32_t>(process.pid))
        text += fmt::format("  main thread {}\n", doing_text(thread));
  }
  if (answer.ended > 0)
    text += fmt::format("{} processes of the run have ended, or are not on this machine\n", answer.ended);
  return text;
}

std::string shared_text(const StacksAnswer& answer) {
  if (answer.shared.empty()) return "";
  std::string text = "\nThe same call in several processes\n";
  for (const SharedCall& shared : answer.shared) {
    std::vector<std::string> who;
    double longest_s = 0;
    for (const ThreadInCall& thread : shared.threads) {
      if (const std::string name = title(thread.pid, thread.rank); who.empty() || who.back() != name)
        who.push_back(name);
      longest_s = std::max(longest_s, thread.since_s.value_or(0));
    }
    text += fmt::format("  {} in {}: {}{}\n", role_name(shared.role), printable(shared.call), fmt::join(who, ", "),
                        longest_s > 0 ? ", the longest since " + since_text(longest_s) : "");
  }
  return text;
}

struct OneStack {
  std::vector<std::string> threads;
  const ThreadStack* shown;
};

std::string stacks_once(const StacksAnswer& answer) {
  std::map<std::pair<std::vector<std::string>, std::vector<std::string>>, std::size_t> known;
  std::vector<OneStack> stacks;
  for (const ProcessStacks& process : answer.processes)
    for (const ThreadStack& thread : process.threads) {
      const auto [at, is_new] = known.emplace(std::pair(thread.python, thread.native), stacks.size());
      if (is_new) stacks.push_back({{}, &thread});
      stacks[at->second].threads.push_back(fmt::format("{} thread {} {} \"{}\" {}", title(process.pid, process.rank),
                                                       thread.tid, role_name(thread.role), printable(thread.name),
                                                       doing_text(thread)));
    }
  std::string text;
  for (const OneStack& stack : stacks) {
    text += "\n";
    for (const std::string& thread : stack.threads) text += thread + "\n";
    for (const std::string& frame : stack.shown->python) text += fmt::format("    {}\n", printable(frame));
    if (!stack.shown->python.empty() && !stack.shown->native.empty()) text += "    native:\n";
    for (const std::string& frame : stack.shown->native) text += fmt::format("      {}\n", printable(frame));
  }
  return text;
}

Json thread_json(const ThreadStack& thread) {
  Json json = {{"tid", thread.tid},
               {"name", thread.name},
               {"role", role_name(thread.role)},
               {"state", std::string(1, thread.state)},
               {"call", thread.call.empty() ? Json(nullptr) : Json(thread.call)}};
  if (thread.wait)
    json["open_wait"] = {
        {"function", thread.wait->function}, {"library", thread.wait->library}, {"since_s", thread.wait->since_s}};
  if (thread.unread.empty()) {
    json["python"] = thread.python;
    json["native"] = thread.native;
  } else {
    json["unread"] = thread.unread;
  }
  return json;
}

Json process_json(const ProcessStacks& process) {
  Json threads = Json::array();
  for (const ThreadStack& thread : process.threads) threads.push_back(thread_json(thread));
  Json json = {{"pid", process.pid},
               {"rank", process.rank ? Json(*process.rank) : Json(nullptr)},
               {"command", process.command},
               {"recorded", process.recorded}};
  if (!process.unread.empty()) json["unread"] = process.unread;
  json["threads"] = std::move(threads);
  return json;
}

Json shared_json(const SharedCall& shared) {
  Json threads = Json::array();
  for (const ThreadInCall& thread : shared.threads)
    threads.push_back({{"pid", thread.pid},
                       {"rank", thread.rank ? Json(*thread.rank) : Json(nullptr)},
                       {"tid", thread.tid},
                       {"since_s", thread.since_s ? Json(*thread.since_s) : Json(nullptr)}});
  return {{"call", shared.call}, {"role", role_name(shared.role)}, {"threads", std::move(threads)}};
}

}  // namespace

std::string stacks_text(const StacksAnswer& answer) {
  return processes_text(answer) + shared_text(answer) + stacks_once(answer);
}

std::string stacks_json(const StacksAnswer& answer) {
  Json processes = Json::array(), shared = Json::array();
  for (const ProcessStacks& process : answer.processes) processes.push_back(process_json(process));
  for (const SharedCall& call : answer.shared) shared.push_back(shared_json(call));
  const Json json = {{"schema", 1},
                     {"processes", std::move(processes)},
                     {"shared_calls", std::move(shared)},
                     {"ended_processes", answer.ended}};
  return json_text(json, 2) + "\n";
}

}  // namespace hostprobe::analysis
