// steps.cpp: see steps.h.
#include "steps.h"

#include <algorithm>
#include <cmath>

#include "median.h"
#include "model/step_period.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kOwnType = 3;       // so many alike steps, and
constexpr std::uint64_t kOwnTypePart = 20;  // one of so many of those that call the same functions, are a type
constexpr std::uint64_t kStepsOfType = 3;   // with fewer to each type, types tell nothing
constexpr double kFar = 4;                  // times the median: no step like the others
constexpr double kCheckpoint = 1.5;         // times as long as without the copies

double at_rank(std::vector<double>& ns, double percent) {
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(ns.size())));
  const auto at = ns.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(ns.begin(), at, ns.end());
  return *at;
}

// A part of a step that repeats (a layer) is cut too, and what lies between two such parts is then longer than they are. It computes
// something else. One that computes the usual was held up, as where the host is ahead of the GPU until it reads a loss.
bool are_most_of_the_time(const StepAnswer& answer) {
  const auto usual = std::max_element(answer.types.begin(), answer.types.end(),
                                      [](const auto& l, const auto& r) { return l.lengths.count < r.lengths.count; });
  double far_ns = 0;
  for (const Step& step : answer.steps)
    if (answer.types[step.type].compute != usual->compute && step.length_ns() > kFar * answer.lengths.median_ns)
      far_ns += step.length_ns();
  return far_ns <= 0.5 * answer.lengths.total_ns;
}

}  // namespace

StepLengths lengths_of(std::vector<double> ns) {
  StepLengths lengths;
  lengths.count = ns.size();
  if (ns.empty()) return lengths;
  for (const double one : ns) {
    lengths.total_ns += one;
    lengths.max_ns = std::max(lengths.max_ns, one);
  }
  lengths.median_ns = median_of(ns);
  lengths.p99_ns = at_rank(ns, 99);
  return lengths;
}

bool Steps::Content::is_within(const Content& whole) const {
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if ((kinds[i] & ~whole.kinds[i]) != 0) return false;
  return launched < whole.launched;
}

void Steps::add_mark(const Event& event) {
  if (plan_.choice == StepChoice::kOff || plan_.choice == StepChoice::kDetected) return;
  if (event.is(kOfOptimizer) != plan_.by_optimizer) return;
  if (event.distribution != nullptr) {
    counters_[event.track->key()].add(event.distribution->time);
  } else if (event.track == plan_.track && event.type == EventType::kCall) {
    if (open_) close(open_->end_ns);
    open(event.work, event.begin_ns, event.end_ns);
    if (!event.counted) records_.add(event.duration_ns);
  }
}

// hooks/regions.h: what the probe names of its own windows. Between the first part of one and its stop the profiler warms up, or records.
void Steps::add_region(const Event& event) {
  const auto [found, is_new] = part_of_window_.try_emplace(event.work, WindowPart::kNone);
  if (is_new) {
    const std::string_view name = strings_->text(event.work);
    if (name.starts_with("profile_window"))
      found->second = name.ends_with(".stop") ? WindowPart::kLast : WindowPart::kAny;
  }
  if (found->second == WindowPart::kNone) return;
  if (windows_.empty() || windows_.back().has_ended) windows_.push_back({{event.begin_ns, event.end_ns}, false});
  ProfilerWindow& window = windows_.back();
  window.time = {std::min(window.time.begin_ns, event.begin_ns), std::max(window.time.end_ns, event.end_ns)};
  window.has_ended = found->second == WindowPart::kLast;
}

// The profiler makes launches slower, and writes what it saw at the end of a step: such steps are not what the program does without us.
void Steps::leave_out_windows() {
  std::erase_if(steps_, [this](const Step& step) {
    const bool is_in_one = std::any_of(windows_.begin(), windows_.end(), [&step](const ProfilerWindow& window) {
      return window.time.begin_ns < step.end_ns && step.begin_ns < window.time.end_ns;
    });
    classes_[step.type].count -= is_in_one;
    return is_in_one;
  });
}

// Where calls are missing nobody knows whether a step ended there.
void Steps::add_call(const Event& event) {
  const bool detects = plan_.source == StepSource::kDetected;
  if (event.function == nullptr) {
    if (detects) open_.reset();
    return;
  }
  Token token;
  if (token_of(event, token, plan_.cut.with_shape)) add_token(token);
}

// Between marks only their kinds count; where steps are detected any of them may end one.
void Steps::add_launches(const LaunchRun& run) {
  if (plan_.source == StepSource::kDetected) {
    Token token;
    for (const PlainLaunch& launch : run.launches)
      if (token_of(launch, token, plan_.cut.with_shape)) add_token(token);
    return;
  }
  if (!open_) return;
  for (const PlainLaunch& launch : run.launches) {
    if (launch.begin_ns >= open_->end_ns) break;
    if (launch.function->step_token == StepToken::kLaunch)
      content_.add_launch(mixed(launch.function->row, launch.work));
    else if (Token token; token_of(launch, token, false))
      content_.add(token);
  }
}

void Steps::add_token(const Token& token) {
  const bool detects = plan_.source == StepSource::kDetected;
  if (detects && !cut_at(token)) return;
  const bool is_wait = token.type == StepToken::kWait || token.type == StepToken::kEventWait;
  if (open_ && !is_wait && (detects || token.begin_ns < open_->end_ns)) content_.add(token);
}

// Where one ends there. False: the call is the last of the step that it ends.
bool Steps::cut_at(const Token& token) {
  double at_ns = 0;
  if (!cutter_.ends(token, at_ns)) return true;
  if (plan_.cut.at_end) content_.add(token);
  if (open_) close(at_ns);
  if (at_ns >= plan_.span.begin_ns && at_ns < plan_.span.end_ns) open(steps_.size(), at_ns, at_ns);
  return !plan_.cut.at_end;
}

void Steps::open(std::uint64_t number, double begin_ns, double end_ns) {
  open_ = Step{number, begin_ns, end_ns, 0};
  content_ = {};
}

void Steps::close(double end_ns) {
  open_->end_ns = end_ns;
  const auto [found, is_new] = class_of_.try_emplace(content_.calls, static_cast<std::uint32_t>(classes_.size()));
  if (is_new) classes_.push_back({content_, 0, 0, 0});
  Class& own = classes_[found->second];
  ++own.count;
  own.ns += open_->length_ns();
  open_->type = found->second;
  steps_.push_back(*open_);
  open_.reset();
}

// Threads are walked whole: the one that counts was given to one of the two.
void Steps::merge(Steps&& other) {
  for (const auto& [key, times] : other.counters_) counters_[key].add(times);
  windows_.insert(windows_.end(), other.windows_.begin(), other.windows_.end());
  if (other.open_ || !other.steps_.empty()) {
    open_ = other.open_;
    content_ = other.content_;
    steps_ = std::move(other.steps_);
    classes_ = std::move(other.classes_);
    class_of_ = std::move(other.class_of_);
    records_ = other.records_;
  }
}

// Rare contents join the most frequent one that calls the same functions.
std::vector<const Steps::Class*> Steps::type_classes() {
  std::map<std::array<std::uint64_t, 4>, std::pair<std::uint64_t, Class*>> groups;  // steps, and the most frequent
  for (Class& one : classes_) {
    if (one.count == 0) continue;  // all of its steps were left out
    auto& [count, most] = groups[one.content.kinds];
    count += one.count;
    if (most == nullptr || one.count > most->count) most = &one;
  }
  std::vector<const Class*> types;
  for (Class& one : classes_) {
    if (one.count == 0) continue;
    const auto& [count, most] = groups[one.content.kinds];
    const bool is_own = &one == most || (one.count >= kOwnType && one.count * kOwnTypePart >= count);
    one.type = is_own ? static_cast<std::uint32_t>(types.size()) : UINT32_MAX;
    if (is_own) types.push_back(&one);
  }
  for (Class& one : classes_)
    if (one.type == UINT32_MAX) one.type = groups[one.content.kinds].second->type;
  return types;
}

// Each step differs a little from every other: that is no difference of kind.
std::vector<const Steps::Class*> Steps::one_type() {
  const Class* most = &classes_.front();
  for (Class& one : classes_) {
    one.type = 0;
    if (one.count > most->count) most = &one;
  }
  return {most};
}

std::string Steps::name_of(const Class& one, const Class& train, const StepAnswer& answer) const {
  const auto is = [](const Class& type) { return [&type](const Step& step) { return step.type == type.type; }; };
  if (one.type == train.type) return "train";
  const auto first_train = std::find_if(answer.steps.begin(), answer.steps.end(), is(train));
  if (std::none_of(first_train, answer.steps.end(), is(one))) return "warm_up";
  const Content &own = one.content, &usual = train.content;
  const double median_ns = answer.types[one.type].lengths.median_ns;
  if (own.compute == usual.compute && own.other > usual.other &&
      median_ns >= kCheckpoint * answer.types[train.type].lengths.median_ns)
    return "checkpoint";
  return own.launched > 0 && own.is_within(usual) ? "evaluation" : "other";
}

void Steps::tell_types(StepAnswer& answer) {
  std::vector<const Class*> types = type_classes();
  if (types.size() > 1 && kStepsOfType * types.size() > answer.steps.size()) types = one_type();
  std::vector<std::vector<double>> ns(types.size());
  for (Step& step : answer.steps) {
    step.type = classes_[step.type].type;
    ns[step.type].push_back(step.length_ns());
  }
  for (std::size_t type = 0; type < types.size(); ++type)
    answer.types.push_back({"", lengths_of(std::move(ns[type])), types[type]->content.compute});
  const std::size_t train = types.empty() ? 0 : answer.usual_type();
  for (std::uint32_t type = 0; type < types.size(); ++type)
    answer.types[type].name = name_of(*types[type], *types[train], answer);
  if (!types.empty()) answer.collectives = types[train]->content.collectives;
}

void Steps::tell_counted(StepAnswer& answer) {
  const Histogram* most = nullptr;
  for (const auto& [key, times] : counters_) {
    if (most != nullptr && times.count() <= most->count()) continue;
    most = &times;
    answer.thread = key;
  }
  if (plan_.track != nullptr) answer.thread = plan_.track->key();
  const auto own = counters_.find(answer.thread);
  Histogram all = records_;
  if (own != counters_.end()) all.add(own->second);
  answer.source = StepSource::kMarks;
  answer.by_optimizer = plan_.by_optimizer;
  answer.lengths = {all.count(), all.total_ns(), all.percentile_ns(50), all.percentile_ns(99), all.max_ns()};
}

StepAnswer Steps::finish() {
  StepAnswer answer;
  if (plan_.source == StepSource::kMarks && open_) close(open_->end_ns);
  open_.reset();
  leave_out_windows();
  steps_.shrink_to_fit();
  answer.steps = std::move(steps_);
  if (!answer.steps.empty()) {
    answer.source = plan_.source;
    answer.by_optimizer = plan_.by_optimizer;
    answer.thread = plan_.track->key();
    answer.begin_ns = answer.steps.front().begin_ns;
    answer.end_ns = answer.steps.back().end_ns;
    tell_types(answer);
    std::vector<double> ns;
    for (const Step& step : answer.steps) ns.push_back(step.length_ns());
    answer.lengths = lengths_of(std::move(ns));
    if (plan_.source == StepSource::kDetected && !are_most_of_the_time(answer)) return {};
  }
  if (!counters_.empty() && plan_.source != StepSource::kDetected) tell_counted(answer);
  return answer;
}

}  // namespace hostprobe::analysis
