// progress.cpp: see progress.h.
#include "progress.h"

#include <fmt/format.h>

namespace hostprobe::analysis {

ProgressAnswer& ProgressThreads::of(const Thread& thread) {
  const auto [found, fresh] = threads_.try_emplace(thread.key);
  ProgressAnswer& answer = found->second;
  if (!fresh) return answer;
  answer.tid = thread.key.tid;
  answer.name = thread.name;
  answer.role = roles_.at(thread.key);
  answer.migrations = thread.entry.migrations;
  if (thread.entry.cpu_ns != 0) {
    answer.cpu_ms = 1e-6 * static_cast<double>(thread.entry.cpu_ns);
    answer.run_delay_ms = 1e-6 * static_cast<double>(thread.entry.run_delay_ns);
  }
  return answer;
}

void ProgressThreads::add(const Thread& thread, const Record& record) {
  ProgressAnswer& answer = of(thread);
  const double ns = trace_.clock.span_ns(record.begin_ticks, record.end_ticks);
  answer.poll.add(ns);
  ++answer.stalls;
  answer.stall_ms += 1e-6 * ns;
}

void ProgressThreads::add_short(const Thread& thread, const ShortWaitsSum& sum) {
  sum.time.add_to(of(thread).poll, trace_.clock);
}

void ProgressThreads::add_communicator(const Hook& hook, const Record& record) {
  if (!hook.name.starts_with("ncclCommInit") && hook.name != "ncclCommSplit" && hook.name != "ncclCommShrink") return;
  const std::uint64_t communicator = word(record, hook.word_of("comm"));
  if (communicator != 0) communicators_[record.begin_ticks] = communicator;
}

std::string ProgressThreads::communicator_at(std::uint64_t ticks) const {
  auto made = communicators_.upper_bound(ticks);
  if (made == communicators_.begin()) return {};
  return fmt::format("{:016x}", (--made)->second);
}

std::vector<ProgressAnswer> ProgressThreads::finish() {
  std::vector<ProgressAnswer> answers;
  for (auto& [key, answer] : threads_) {
    answer.communicator = communicator_at(key.start_ticks);
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace hostprobe::analysis
