// thread_table.cpp: see thread_table.h.
#include "thread_table.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "report/columns.h"
#include "report/text_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr double kIdlePct = 0.5;  // of its life on a CPU: a thread below only serves

bool is_idle(const ThreadAnswer& thread) {
  const ThreadTime& time = thread.time;
  return thread.role != Role::kMain && time.wall_ms > 0 && 100 * time.cpu_ms.value_or(0) < kIdlePct * time.wall_ms;
}

void add_thread(const ThreadAnswer& thread, TextTable& table) {
  const ThreadTime& time = thread.time;
  table.add({role_name(thread.role), printable(thread.name), std::to_string(thread.tid),
             time.cpu_ms ? ms_text(*time.cpu_ms) : "?", ms_text(time.wait_ms),
             time.run_delay_ms ? ms_text(*time.run_delay_ms) : "?", grouped(thread.records),
             thread.lost == 0 ? "" : grouped(thread.lost),
             thread.merged > 0 ? fmt::format("{} threads, merged", thread.merged) : printable(thread.runs)});
}

std::string others_text(const std::vector<const ThreadAnswer*>& threads) {
  std::map<Role, std::size_t> roles;
  double cpu_ms = 0;
  bool all_idle = true;
  std::uint64_t lost = 0;
  for (const ThreadAnswer* thread : threads) {
    ++roles[thread->role];
    cpu_ms += thread->time.cpu_ms.value_or(0);
    all_idle = all_idle && is_idle(*thread);
    lost += thread->lost;
  }
  std::string names;
  for (const auto& [role, count] : roles)
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", count, role_name(role));
  return fmt::format("… and {}{} (--all): {} · CPU {}{}", threads.size(), all_idle ? " idle" : " more", names,
                     ms_text(cpu_ms), lost > 0 ? fmt::format(" · lost {}", lost) : "");
}

}  // namespace

std::string thread_table(const ProcessAnswer& process, std::size_t most, bool all, std::size_t width) {
  TextTable table({{.heading = "thread", .is_name = true},
                   {.heading = "name", .is_name = true, .least = 10},
                   {.heading = "tid"},
                   {.heading = "CPU"},
                   {.heading = "waiting"},
                   {.heading = "no CPU"},
                   {.heading = "records", .spare = 2},
                   {.heading = "lost"},
                   {.heading = "runs", .is_name = true, .spare = 1, .least = 12}});
  std::vector<const ThreadAnswer*> others;
  for (const ThreadAnswer& thread : process.threads) {
    if (table.rows() < most && (all || !is_idle(thread)))
      add_thread(thread, table);
    else
      others.push_back(&thread);
  }
  return table.text(width) + (others.empty() ? "" : wrapped(others_text(others), "  ", "    ", width));
}

}  // namespace hostprobe::analysis
