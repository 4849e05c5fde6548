// steps.h: the training steps of a process: how many, how long, of which types, and which of them were slow.
//
// Room 3. Where they begin and end is planned beforehand (timeline/steps.h). Steps that differ in what they call (an
// evaluation, a checkpoint) are of different types: a step is slow only beside others of its own.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "answer/step.h"
#include "model/launch_run.h"
#include "model/steps.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

StepLengths lengths_of(std::vector<double> ns);

class Steps {
 public:
  Steps(const StepPlan& plan, const Strings& strings) : plan_(plan), cutter_(plan.cut), strings_(&strings) {}
  void add(const Event& event) {
    if (event.is(kMarksStep) && !event.below_limit) add_mark(event);
    if (event.is(kNamesTime) && event.type == EventType::kCall) add_region(event);
    if (event.track == plan_.track && plan_.track != nullptr) add_call(event);
  }
  void add(const LaunchRun& run) {
    if (run.track == plan_.track) add_launches(run);
  }
  void merge(Steps&& other);
  StepAnswer finish();

 private:
  // What the calls of a step were, whatever their order.
  struct Content {
    std::uint64_t calls = 0;    // sum over their kinds
    std::uint64_t compute = 0;  // of launches and collectives alone
    std::array<std::uint64_t, 4> kinds{};
    std::uint32_t launched = 0;
    std::uint32_t collectives = 0;
    std::uint32_t other = 0;

    void add_kind(std::uint64_t work) {
      calls += work;
      kinds[work & 3] |= std::uint64_t{1} << (work >> 58);
    }
    void add_launch(std::uint64_t work) {
      add_kind(work);
      compute += work;
      ++launched;
    }
    void add(const Token& token) {
      if (token.type == StepToken::kLaunch || token.type == StepToken::kCollective) {
        add_launch(token.work);
        collectives += token.type == StepToken::kCollective;
      } else {
        add_kind(token.work);
        ++other;
      }
    }
    bool is_within(const Content& whole) const;
  };
  struct Class {
    Content content;
    std::uint64_t count = 0;
    double ns = 0;
    std::uint32_t type = 0;
  };

  // A window of PyTorch's profiler that hostprobe opened, by the regions that tell of it.
  enum class WindowPart : std::uint8_t { kNone, kAny, kLast };
  struct ProfilerWindow {
    Window time;
    bool has_ended = false;
  };

  void add_mark(const Event& event);
  void add_region(const Event& event);
  void leave_out_windows();
  void add_call(const Event& event);
  void add_launches(const LaunchRun& run);
  void add_token(const Token& token);
  bool cut_at(const Token& token);
  void open(std::uint64_t number, double begin_ns, double end_ns);
  void close(double end_ns);
  std::vector<const Class*> type_classes();
  std::vector<const Class*> one_type();
  std::string name_of(const Class& one, const Class& train, const StepAnswer& answer) const;
  void tell_types(StepAnswer& answer);
  void tell_counted(StepAnswer& answer);

  StepPlan plan_;
  StepCutter cutter_;
  const Strings* strings_;
  std::unordered_map<std::uint64_t, WindowPart> part_of_window_;  // by the id of a region's name
  std::vector<ProfilerWindow> windows_;
  std::optional<Step> open_;
  Content content_;
  std::vector<Step> steps_;  // their type is a class for now
  std::vector<Class> classes_;
  std::unordered_map<std::uint64_t, std::uint32_t> class_of_;  // by Content::calls
  std::map<ThreadKey, Histogram> counters_;                    // of marks that have no place in time any more
  Histogram records_;                                          // of those that are in no counter
};

}  // namespace hostprobe::analysis
