// rank_knowledge.cpp: see rank_knowledge.h.
#include "rank_knowledge.h"

#include "analysis/measures/halts.h"

namespace hostprobe::analysis {
namespace {

Window on_axis(const TimeAxis& axis, const Window& window) {
  return {axis.of(window.begin_ns), axis.of(window.end_ns)};
}

std::vector<Window> halts_on(const StepTimeProcess& process) {
  std::vector<Window> halts = halts_of(*process.timeline);
  for (Window& halt : halts) halt = on_axis(process.axis, halt);
  return halts;
}

std::vector<Throttled> throttled_on(const StepTimeProcess& process) {
  std::vector<Throttled> times = throttled_times(process.timeline->trace());
  for (Throttled& time : times) time.window = on_axis(process.axis, time.window);
  return times;
}

std::unique_ptr<KnownProcess> known_of(const StepTimeProcess& process, const PathGraph& graph, const LaunchPace& pace,
                                       const std::vector<Window>& steps, std::uint32_t number, Symbols& symbols) {
  const std::map<ThreadKey, ThreadSamples> samples = running_samples(process.timeline->trace());
  return std::make_unique<KnownProcess>(
      KnownProcess{CallCauses(*process.timeline, graph.host, symbols, number),
                   WithoutCpu(*process.answer, graph, *process.timeline, process.axis, samples, steps, number),
                   BlockedCode(*process.timeline, graph, process.axis, samples, steps, number, symbols),
                   OwnCode(*process.timeline, graph, pace, process.axis, samples, steps, number, symbols),
                   ThrottledTime(throttled_on(process)), halts_on(process)});
}

LowFrequency frequency_of(const StepTimeMember& member, const PathGraph& graph, const std::vector<Window>& steps) {
  const Window all = steps.empty() ? Window{} : Window{steps.front().begin_ns, steps.back().end_ns};
  std::uint32_t tid = 0;
  if (member.thread >= 0)
    if (const Track* track = graph.host.threads[static_cast<std::size_t>(member.thread)].track) tid = track->key().tid;
  return {member.timeline->trace(), member.axis, all, tid};
}

std::vector<const ProcessAnswer*> answers_of(const std::vector<StepTimeMember>& members) {
  std::vector<const ProcessAnswer*> answers;
  for (const StepTimeMember& member : members) {
    answers.push_back(member.answer);
    for (const StepTimeProcess& worker : member.workers) answers.push_back(worker.answer);
  }
  return answers;
}

void compare_frequencies(std::vector<Rank>& ranks) {
  for (Rank& one : ranks) {
    std::vector<double> elsewhere;
    for (const Rank& other : ranks)
      if (&other != &one && other.frequency.usual_ghz() > 0) elsewhere.push_back(other.frequency.usual_ghz());
    one.frequency.compare_with(elsewhere);
  }
}

bool is_exact(ActivitySource source) {
  return source == ActivitySource::kProfile || source == ActivitySource::kAccount;
}

}  // namespace

OutsidePeers outside_peers(const JobGraph& job, const std::vector<StepTimeMember>& members) {
  OutsidePeers peers;
  for (std::uint32_t i = 0; i < job.parts.size(); ++i)
    for (std::uint32_t w = 0; w <= members[i].workers.size(); ++w) {
      const StepTimeProcess& process = w == 0 ? members[i] : members[i].workers[w - 1];
      peers.add_process(process.timeline->trace());
      peers.add_calls(process.timeline->trace(), job.parts[i].host, w);
    }
  return peers;
}

std::vector<Rank> known_ranks(const JobGraph& job, const std::vector<StepTimeMember>& members,
                              const std::vector<Window>& steps, Symbols& symbols) {
  std::vector<Rank> ranks;
  const std::vector<const ProcessAnswer*> answers = answers_of(members);
  for (std::uint32_t i = 0; i < job.parts.size(); ++i) {
    const StepTimeMember& member = members[i];
    const PathGraph& graph = job.parts[i];
    const LaunchPace pace = launch_pace_of(graph);
    ranks.push_back({&graph,
                     member.thread,
                     gpu_stretches(job, i),
                     pace,
                     member.answer->gc.has_value(),
                     is_exact(member.answer->gpu.source),
                     frequency_of(member, graph, steps),
                     StepInputs(graph),
                     pools_beyond_cpus(answers, *member.answer),
                     {}});
    ranks.back().processes.push_back(known_of(member, graph, pace, steps, 0, symbols));
    for (std::uint32_t w = 0; w < member.workers.size(); ++w)
      ranks.back().processes.push_back(known_of(member.workers[w], graph, pace, steps, w + 1, symbols));
  }
  compare_frequencies(ranks);
  return ranks;
}

}  // namespace hostprobe::analysis
