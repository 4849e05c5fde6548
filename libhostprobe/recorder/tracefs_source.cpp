// tracefs_source.cpp: see source.h: the instances of tracing, and what reads them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "recorder.h"
#include "source.h"
#include "tracefs.h"
#include "tracefs_calls.h"

namespace hostprobe::kernel {
namespace {

constexpr char kSwitch[] = "sched/sched_switch";
constexpr std::uint64_t kPutDownNs = 500'000'000;

// Who had the CPU instead of a task is in the switches of others, which no limit by task lets through. So they have an
// instance of their own, for all; the limit costs as much as what it keeps out (docs/decisions/0027).
bool has_others(const SchedOptions& options) {
  return !options.all && std::find(options.events.begin(), options.events.end(), kSwitch) != options.events.end();
}

std::unique_ptr<Instance> own_instance(const SchedOptions& options) {
  std::vector<std::string> events = options.events;
  if (has_others(options)) std::erase(events, kSwitch);
  if (events.empty()) return nullptr;
  return std::make_unique<Instance>(instance_name(getpid(), "own"), std::move(events), options.cpus);
}

std::unique_ptr<Instance> instance_of_switches(const SchedOptions& options) {
  if (!has_others(options)) return nullptr;
  return std::make_unique<Instance>(instance_name(getpid(), "all"), std::vector<std::string>{kSwitch}, options.cpus);
}

class TracefsSource : public Source {
 public:
  explicit TracefsSource(const SchedOptions& options)
      : own_(own_instance(options)), others_(instance_of_switches(options)), recorder_(instances(), options) {}

  const analysis::TraceWriter& file() const override { return recorder_.file(); }
  void begin(const std::vector<int>& tids, int program) override { recorder_.begin(tids, program); }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    for (const Instance* instance : instances())
      for (const std::string& event : instance->missing())
        notes.push_back(fmt::format("this kernel has no event {}", event));
    return notes;
  }
  void pause() override { recorder_.pause(); }
  void go_on() override { recorder_.go_on(); }
  bool read() override { return recorder_.read(); }
  int idle_ms() const override { return 10; }
  std::uint64_t put_down() override {
    recorder_.put_down();
    return kPutDownNs;
  }
  SourceTotals finish(std::uint64_t switches) override { return recorder_.finish(switches); }

 private:
  std::vector<Instance*> instances() const {
    std::vector<Instance*> all;
    for (Instance* one : {own_.get(), others_.get()})
      if (one != nullptr) all.push_back(one);
    return all;
  }

  const std::unique_ptr<Instance> own_, others_;
  Recorder recorder_;  // goes first: an instance stays as long as one of its files is open
};

}  // namespace

std::unique_ptr<Source> open_tracefs_source(const SchedOptions& options, const Tell& tell) {
  tracefs_set_loglevel(TEP_LOG_NONE);
  if (const std::string problem = reach_tracefs(); !problem.empty()) throw std::runtime_error(problem);
  if (const int swept = sweep_instances(); swept > 0)
    tell(fmt::format("removed {} instance{} of tracing that a killed recorder had left", swept, swept == 1 ? "" : "s"));
  return std::make_unique<TracefsSource>(options);
}

}  // namespace hostprobe::kernel
