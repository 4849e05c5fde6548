// progress.cpp: see progress.h.
#include "progress.h"

#include <fmt/format.h>

namespace hostprobe::analysis {

namespace {

bool is_nccl(Role role) {
  return role == Role::kNcclProgress || role == Role::kNcclService || role == Role::kNcclOther;
}

}  // namespace

ProgressThreads::ProgressThreads(const Trace& trace, const std::map<ThreadKey, Role>& roles)
    : trace_(trace), roles_(roles) {
  for (const auto& [key, thread] : trace.threads) {
    if (roles.at(key) == Role::kNcclProgress) births_[key] = birth_of(thread);
  }
}

// The progress thread is started by a service thread, that one by a job that initialises the communicator, that one by
// whoever called NCCL.
ProgressThreads::Birth ProgressThreads::birth_of(const Thread& thread) const {
  constexpr int kMostGenerations = 8;
  const Thread* youngest = &thread;
  for (int i = 0; i < kMostGenerations; ++i) {
    const Thread* creator = trace_.thread_at(youngest->entry.creator_tid, youngest->key.start_ticks);
    if (creator == nullptr || creator == youngest || !is_nccl(roles_.at(creator->key))) break;
    youngest = creator;
  }
  // Its own first moment may lie behind the end of the call that made it.
  const std::uint64_t created = youngest->entry.created_ticks;
  return {youngest->entry.creator_tid, created != 0 ? created : youngest->key.start_ticks};
}

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
  if (is_summed(record)) return;
  const double ns = trace_.clock.span_ns(record.begin_ticks, record.end_ticks);
  answer.poll.add(ns);
  ++answer.stalls;
  answer.stall_ms += 1e-6 * ns;
}

void ProgressThreads::add_short(const Thread& thread, const SiteSum& sum) {
  sum.time.add_to(of(thread).poll, trace_.clock);
}

// Rounds that had records, which are gone.
void ProgressThreads::add_stalls(const Thread& thread, const SiteSum& sum) {
  add_short(thread, sum);
  of(thread).stalls += sum.time.count();
  of(thread).stall_ms += 1e-6 * trace_.clock.length_ns(static_cast<double>(sum.time.ticks));
}

// The last call on a communicator that began before the birth: the one inside which it happened, or, for calls in a group,
// the last one of that group.
void ProgressThreads::add_call(const Thread& caller, const Hook& hook, const Record& record) {
  for (auto& [key, birth] : births_) {
    if (birth.creator_tid != caller.key.tid || record.begin_ticks > birth.ticks) continue;
    if (record.begin_ticks < birth.communicator_ticks) continue;
    const std::uint64_t communicator = word(record, hook.word_of("comm"));
    if (communicator == 0) continue;
    birth.communicator = communicator;
    birth.communicator_ticks = record.begin_ticks;
  }
}

std::vector<ProgressAnswer> ProgressThreads::finish() {
  std::vector<ProgressAnswer> answers;
  for (auto& [key, answer] : threads_) {
    const auto birth = births_.find(key);
    if (birth != births_.end() && birth->second.communicator != 0)
      answer.communicator = fmt::format("{:016x}", birth->second.communicator);
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace hostprobe::analysis
