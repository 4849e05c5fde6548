// speedscope.cpp: stacks in the file format of speedscope.app: a profile for each process and state.
//
// Room 3.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "model/samples.h"
#include "weighted_stacks.h"
#include "words/json_string.h"

namespace hostprobe::analysis {
namespace {

struct Profile {
  std::string samples, weights;
  std::int64_t whole_ns = 0;
};

class Document {
 public:
  Document(const WeightedStacks& all, bool step_as_frame) : all_(all) {
    for (const auto& [key, weight] : all.stacks) add(key, weight, step_as_frame);
  }

  void write(const Sink& sink) const {
    sink(
        "{\"$schema\":\"https://www.speedscope.app/"
        "file-format-schema.json\",\"exporter\":\"hostprobe\",\"shared\":{\"frames\":[");
    for (std::size_t i = 0; i < frames_.size(); ++i) sink((i == 0 ? "\n" : ",\n") + frames_[i]);
    sink("\n]},\"profiles\":[");
    bool any = false;
    for (const auto& [place, profile] : profiles_) {
      const std::string name =
          fmt::format("{}, {}", all_.processes[place.first].title, thread_state_name(place.second));
      sink(fmt::format(
          "{}\n{{\"type\":\"sampled\",\"name\":{},\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":{},"
          "\"samples\":[",
          any ? "," : "", json_text(name), profile.whole_ns));
      sink(profile.samples + "],\"weights\":[" + profile.weights + "]}");
      any = true;
    }
    sink("\n]}\n");
  }

 private:
  using Place = std::pair<std::size_t, ThreadState>;  // process and state

  // The process and the state are the profile's.
  void add(const StackKey& key, const StackWeight& weight, bool step_as_frame) {
    const auto ns = std::llround(weight.ns);
    std::string stack;
    const std::vector<std::string> frames = frames_from_root(all_, key, step_as_frame);
    const std::size_t state = step_as_frame ? 3 : 2;
    for (std::size_t i = 1; i < frames.size(); ++i)
      if (i != state) stack += fmt::format("{}{}", stack.empty() ? "" : ",", frame_of(frames[i]));
    Profile& profile = profiles_[{all_.threads[key.thread].process, key.state}];
    const char* comma = profile.whole_ns == 0 && profile.samples.empty() ? "" : ",";
    profile.samples += fmt::format("{}[{}]", comma, stack);
    profile.weights += fmt::format("{}{}", comma, ns);
    profile.whole_ns += ns;
  }

  std::size_t frame_of(const std::string& text) {
    const auto [found, fresh] = numbers_.try_emplace(text, frames_.size());
    if (!fresh) return found->second;
    const PythonPlace place = python_place(text);
    std::string json = fmt::format("{{\"name\":{}", json_text(place.function));
    if (!place.file.empty()) json += fmt::format(",\"file\":{}", json_text(place.file));
    if (place.line > 0) json += fmt::format(",\"line\":{}", place.line);
    frames_.push_back(json + "}");
    return found->second;
  }

  const WeightedStacks& all_;
  std::vector<std::string> frames_;
  std::map<std::string, std::size_t> numbers_;
  std::map<Place, Profile> profiles_;
};

std::vector<std::string> write_speedscope(const ExportRequest& request, const Sink& sink,
                                          const ExportProgress& progress) {
  const WeightedStacks all = collect_stacks(request.run, request.steps, request.steps.as_frames, progress);
  Document(all, request.steps.as_frames).write(sink);
  return all.problems;
}

}  // namespace

ExportForm speedscope_form() {
  return {"--speedscope", "The same for speedscope.app: a profile for each rank, of running and of waiting",
          ExportKind::kStacks, write_speedscope};
}

}  // namespace hostprobe::analysis
