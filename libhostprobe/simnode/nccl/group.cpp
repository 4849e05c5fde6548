// See group.h.
#include "group.h"

#include "driver.h"
#include "enqueue.h"
#include "last_error.h"
#include "node/clock.h"
#include "reduce.h"

#include <unistd.h>
#include <algorithm>

namespace simnode::nccl {

namespace {

struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Making> makings;
  std::vector<Call> calls;
};
thread_local Group t_group;

// One piece of a group's end that may block on peers, on a thread of its own where there are several (ncclAsyncJobMain).
struct Job {
  std::function<ncclResult_t()> body;
  ncclResult_t result = ncclSuccess;
  std::atomic<bool> done{false};
  Thread thread;

  static void* run(void* argument) {
    auto* job = static_cast<Job*>(argument);
    job->result = job->body();
    job->done.store(true);
    return nullptr;
  }
};

// NCCL looks every microsecond; with more ranks than CPUs that is what keeps the jobs from running, so looks get rarer.
void await(const std::vector<std::unique_ptr<Job>>& jobs) {
  useconds_t pause = 1;
  for (const auto& job : jobs) {
    while (!job->done.load()) {
      usleep(pause);
      pause = std::min<useconds_t>(pause * 2, 1000);
    }
    job->thread.join();
  }
}

ncclResult_t run_all(std::vector<std::function<ncclResult_t()>> bodies) {
  if (bodies.size() == 1) return bodies[0]();
  std::vector<std::unique_ptr<Job>> jobs;
  for (auto& body : bodies) {
    jobs.push_back(std::make_unique<Job>());
    jobs.back()->body = std::move(body);
    if (jobs.back()->thread.start(Job::run, jobs.back().get())) continue;
    jobs.back()->result = fail(ncclSystemError, "cannot start a thread for a group's job");
    jobs.back()->done.store(true);
  }
  await(jobs);
  for (const auto& job : jobs) NCCL_TRY(job->result);
  return ncclSuccess;
}

ncclResult_t make(const Making& making) {
  Communicator& made = *making.communicator;
  ncclResult_t result = making.body();
  made.set_state(result);
  if (result == ncclSuccess || !made.blocking()) return result;
  *making.handle = nullptr;
  made.leave();
  remove_communicator(reinterpret_cast<ncclComm_t>(&made));
  return result;
}

ncclResult_t make_all(const std::vector<Making>& makings) {
  std::vector<std::function<ncclResult_t()>> bodies;
  for (const Making& making : makings) bodies.push_back([&making] { return make(making); });
  return bodies.empty() ? ncclSuccess : run_all(std::move(bodies));
}

using PerCommunicator = std::vector<std::pair<std::shared_ptr<Communicator>, std::vector<Call>>>;

PerCommunicator by_communicator(std::vector<Call> calls) {
  PerCommunicator all;
  for (Call& call : calls) {
    auto found = std::find_if(all.begin(), all.end(), [&](auto& one) { return one.first == call.communicator; });
    if (found == all.end()) found = all.insert(all.end(), {call.communicator, {}});
    found->second.push_back(std::move(call));
  }
  return all;
}

// A send to itself can only be received in the same group: there is nobody else who could.
ncclResult_t check_self(const Communicator& communicator, const std::vector<Call>& calls) {
  int balance = 0;
  for (const Call& call : calls)
    for (const Work& work : call.works)
      if (work.point_to_point() && work.root == communicator.rank()) balance += work.kind == Kind::kSend ? 1 : -1;
  if (balance == 0) return ncclSuccess;
  return fail(ncclInvalidUsage,
              "rank %d sends to itself without a matching receive in the same group, or the other way "
              "round",
              communicator.rank());
}

ncclResult_t carry_out(const std::vector<Making>& makings, std::vector<Call> calls) {
  NCCL_TRY(make_all(makings));
  PerCommunicator all = by_communicator(std::move(calls));
  std::vector<std::function<ncclResult_t()>> bodies;
  for (auto& [communicator, its_calls] : all) {
    NCCL_TRY(check_self(*communicator, its_calls));
    bodies.push_back([&who = communicator, &its = its_calls] { return prepare(*who, its); });
  }
  if (!bodies.empty()) NCCL_TRY(run_all(std::move(bodies)));
  for (auto& [communicator, its_calls] : all) NCCL_TRY(launch(communicator, its_calls));
  return ncclSuccess;
}

std::vector<std::shared_ptr<Communicator>> communicators_of(const Group& group) {
  std::vector<std::shared_ptr<Communicator>> all;
  for (const Making& making : group.makings) all.push_back(making.communicator);
  for (const Call& call : group.calls) all.push_back(call.communicator);
  return all;
}

std::vector<BusyMark> mark_busy(const std::vector<std::shared_ptr<Communicator>>& all) {
  std::vector<BusyMark> marks;
  for (auto& communicator : all) marks.emplace_back(communicator);
  return marks;
}

// A detached thread that carries the group out; the communicators say ncclInProgress until it has.
ncclResult_t carry_out_elsewhere(Group group) {
  struct Rest {
    Group group;
    std::vector<std::shared_ptr<Communicator>> communicators;
    std::vector<BusyMark> in_use;
  };
  auto* rest = new Rest{std::move(group), {}, {}};
  rest->communicators = communicators_of(rest->group);
  rest->in_use = mark_busy(rest->communicators);
  for (auto& communicator : rest->communicators) communicator->set_state(ncclInProgress);
  Thread thread;
  bool started = thread.start(
      [](void* argument) -> void* {
        std::unique_ptr<Rest> mine(static_cast<Rest*>(argument));
        ncclResult_t result = carry_out(mine->group.makings, std::move(mine->group.calls));
        for (auto& communicator : mine->communicators)
          if (communicator->state() == ncclInProgress) communicator->set_state(result);
        return nullptr;
      },
      rest);
  if (!started) {
    delete rest;
    return fail(ncclSystemError, "cannot start the thread that carries out a non-blocking group");
  }
  thread.detach();
  return ncclInProgress;
}

}  // namespace

void group_start() { ++t_group.depth; }

ncclResult_t group_end() {
  if (t_group.depth == 0) return fail(ncclInvalidUsage, "ncclGroupEnd: not in a group call");
  if (--t_group.depth > 0) return ncclSuccess;
  Group group = std::move(t_group);
  t_group = {};
  if (group.error != ncclSuccess) {
    for (Making& making : group.makings) {
      *making.handle = nullptr;
      remove_communicator(reinterpret_cast<ncclComm_t>(making.communicator.get()));
    }
    return group.error;
  }
  auto all = communicators_of(group);
  size_t blocking =
      static_cast<size_t>(std::count_if(all.begin(), all.end(), [](auto& one) { return one->blocking(); }));
  if (blocking == all.size()) {
    auto in_use = mark_busy(all);
    return carry_out(group.makings, std::move(group.calls));
  }
  if (blocking != 0) return fail(ncclInvalidArgument, "blocking and non-blocking communicators in one group");
  return carry_out_elsewhere(std::move(group));
}

ncclResult_t group_estimate(float* microseconds) {
  if (t_group.depth == 0) return fail(ncclInvalidUsage, "ncclGroupSimulateEnd: not in a group call");
  if (--t_group.depth > 0) return ncclSuccess;
  Group group = std::move(t_group);
  t_group = {};
  double ns = 0;
  for (const Call& call : group.calls)
    for (const Work& work : call.works) {
      const Link& link = call.communicator->ring_link();
      double bytes = static_cast<double>(work.count * bytes_of(work.type));
      ns += bytes / link.bytes_per_ns + static_cast<double>(link.latency_ns);
    }
  *microseconds = static_cast<float>(ns / 1000);
  return group.error;
}

ncclResult_t note_error(ncclResult_t result) {
  if (t_group.depth > 0 && result != ncclSuccess && result != ncclInProgress && t_group.error == ncclSuccess)
    t_group.error = result;
  return result;
}

ncclResult_t add_to_group(Call call) {
  group_start();
  t_group.calls.push_back(std::move(call));
  return group_end();
}

ncclResult_t add_to_group(Making making) {
  group_start();
  t_group.makings.push_back(std::move(making));
  return group_end();
}

}  // namespace simnode::nccl
