// run_control.cpp: see run_control.h.
#include "run_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <set>

#include "own_thread.h"

namespace hostprobe::analysis {

std::string ControlAnswer::why() const {
  if (failure == nullptr) return "";
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

RunControl::RunControl(const std::vector<RunProcess>& processes, std::chrono::milliseconds patience)
    : patience_(patience), links_(processes.size()) {
  for (const RunProcess& process : processes) answers_.push_back({process, "", nullptr});
}

void RunControl::ask_one(std::size_t index, const std::string& request) {
  ControlAnswer& answer = answers_[index];
  if (answer.failure != nullptr) return;
  try {
    if (links_[index] == nullptr) links_[index] = std::make_unique<ControlLink>(answer.process.pid, patience_);
    answer.text = links_[index]->ask(request);
  } catch (const std::exception&) {
    answer.failure = std::current_exception();
  }
}

const std::vector<ControlAnswer>& RunControl::ask(const std::string& request) {
  std::vector<std::future<void>> asked;
  for (std::size_t i = 0; i < answers_.size(); ++i)
    asked.push_back(std::async(std::launch::async, [this, i, &request] { ask_one(i, request); }));
  for (std::future<void>& each : asked) each.get();
  return answers_;
}

bool all_done(const std::vector<ControlAnswer>& answers) {
  return std::all_of(answers.begin(), answers.end(), [](const auto& each) { return each.failure == nullptr; });
}

std::size_t leave_out_silent_workers(std::vector<RunProcess>& processes) {
  return std::erase_if(processes,
                       [](const RunProcess& each) { return each.is_worker && own_thread_of(each.pid) == 0; });
}

std::string auto_obstacle(const std::vector<RunProcess>& asked) {
  std::set<int> ranks;
  int world = 0;
  for (const RunProcess& process : asked) {
    if (!process.rank) continue;
    ranks.insert(*process.rank);
    world = std::max(world, process.world_size);
  }
  if (ranks.size() >= static_cast<std::size_t>(world)) return "";
  return fmt::format("auto compares all {} ranks of the job, and {} would be asked", world, ranks.size());
}

}  // namespace hostprobe::analysis
