// progress.cpp: see progress.h.
#include "progress.h"

#include <fmt/format.h>

namespace hostprobe::analysis {

namespace {

bool is_nccl(Role role) {
  return role == Role::kNcclProgress || role == Role::kNcclService || role == Role::kNcclOther;
}

}  // namespace

ProgressThreads::ProgressThreads(const Timeline& timeline) {
  for (const Track& track : timeline.tracks())
    if (track.role == Role::kNcclProgress) births_[track.key()] = birth_of(timeline, track);
}

// The progress thread is started by a service thread, that one by a job that initialises the communicator, that one by
// whoever called NCCL.
ProgressThreads::Birth ProgressThreads::birth_of(const Timeline& timeline, const Track& track) {
  constexpr int kMostGenerations = 8;
  const Track* youngest = &track;
  for (int i = 0; i < kMostGenerations; ++i) {
    const Track* creator = timeline.track_at(youngest->thread->entry.creator_tid, youngest->key().start_ticks);
    if (creator == nullptr || creator == youngest || !is_nccl(creator->role)) break;
    youngest = creator;
  }
  // Its own first moment may lie behind the end of the call that made it.
  const std::uint64_t created = youngest->thread->entry.created_ticks;
  TickReader ticks(timeline.trace().clock);
  return {youngest->thread->entry.creator_tid,
          ticks.since_first_ns(created != 0 ? created : youngest->key().start_ticks)};
}

ProgressAnswer& ProgressThreads::of(const Track& track) {
  const auto [found, fresh] = threads_.try_emplace(track.key());
  ProgressAnswer& answer = found->second;
  if (!fresh) return answer;
  const Thread& thread = *track.thread;
  answer.tid = thread.key.tid;
  answer.name = thread.name;
  answer.role = track.role;
  answer.migrations = thread.entry.migrations;
  if (thread.entry.cpu_ns != 0) {
    answer.cpu_ms = 1e-6 * static_cast<double>(thread.entry.cpu_ns);
    answer.run_delay_ms = 1e-6 * static_cast<double>(thread.entry.run_delay_ns);
  }
  return answer;
}

// Counters of rounds above the limit are of rounds that had records, which are gone.
void ProgressThreads::add_polls(const Event& event) {
  ProgressAnswer& answer = of(*event.track);
  if (event.counted) return;
  if (event.distribution != nullptr)
    answer.poll.add(event.distribution->time);
  else
    answer.poll.add(event.duration_ns);
  if (event.below_limit) return;
  answer.stalls += event.count;
  answer.stall_ms += 1e-6 * event.duration_ns;
}

// The last call on a communicator that began before the birth: the one inside which it happened, or, for calls in a group,
// the last one of that group.
void ProgressThreads::add_call(const Event& event) {
  if (event.communicator == 0) return;
  for (auto& [key, birth] : births_) {
    if (birth.creator_tid != event.track->key().tid || event.begin_ns > birth.ns) continue;
    if (event.begin_ns < birth.communicator_ns) continue;
    birth.communicator = event.communicator;
    birth.communicator_ns = event.begin_ns;
  }
}

void ProgressThreads::merge(const ProgressThreads& other) {
  threads_.insert(other.threads_.begin(), other.threads_.end());  // threads are walked whole: none is in both
  for (const auto& [key, birth] : other.births_) {
    Birth& own = births_[key];
    if (birth.communicator != 0 && birth.communicator_ns >= own.communicator_ns) own = birth;
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
