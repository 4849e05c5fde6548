// pprof.cpp: stacks as a profile of pprof: two values a sample, running and waiting, with rank, host, pid, tid, thread, role and step as
// labels, so that `pprof -tagfocus=step=12` and `-tagroot=rank` work.
//
// Room 3. Fields by number, as profile.proto of pprof has them; locations are names without addresses.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "export/protobuf_message.h"
#include "model/samples.h"
#include "weighted_stacks.h"

namespace hostprobe::analysis {
namespace {

// Of Profile.
enum Field : std::uint32_t {
  kSampleType = 1,
  kSample = 2,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kDefaultType = 14
};

class Writer {
 public:
  Writer(const WeightedStacks& all, const Sink& sink) : all_(all), sink_(sink) { text(""); }

  void write() {
    for (const char* type : {"running", "waiting"}) {
      ProtobufMessage value;
      value.add(1, text(type));
      value.add(2, text("nanoseconds"));
      whole_.add(kSampleType, value);
    }
    for (const auto& [key, weight] : all_.stacks) write_sample(key, weight);
    write_locations();
    whole_.add(kDefaultType, text("waiting"));
    for (const std::string& one : texts_) whole_.add_text(kStringTable, one);
    flush(0);
  }

 private:
  std::uint64_t text(const std::string& one) {
    const auto [found, fresh] = numbers_.try_emplace(one, texts_.size());
    if (fresh) texts_.push_back(one);
    return found->second;
  }

  // The innermost location first.
  void write_sample(const StackKey& key, const StackWeight& weight) {
    ProtobufMessage sample;
    for (auto name = key.frames.rbegin(); name != key.frames.rend(); ++name) sample.add(1, *name + 1u);
    const auto ns = static_cast<std::uint64_t>(std::llround(weight.ns));
    sample.add(2, key.state == ThreadState::kRunning ? ns : 0);
    sample.add(2, key.state == ThreadState::kRunning ? 0 : ns);
    add_labels(key, sample);
    whole_.add(kSample, sample);
    flush(kFlushBytes);
  }

  void add_labels(const StackKey& key, ProtobufMessage& sample) {
    const StackThread& thread = all_.threads[key.thread];
    const StackProcess& process = all_.processes[thread.process];
    if (process.rank >= 0) add_label("rank", fmt::to_string(process.rank), sample);
    if (!process.host.empty()) add_label("host", process.host, sample);
    add_label("pid", fmt::to_string(process.pid), sample);
    add_label("tid", fmt::to_string(thread.tid), sample);
    add_label("thread", thread.title, sample);
    add_label("role", thread.role, sample);
    if (key.step != kNoStep) add_label("step", fmt::to_string(key.step), sample);
  }

  // All are texts: pprof takes a number for a size, and puts several of them into one class.
  void add_label(const char* name, const std::string& value, ProtobufMessage& sample) {
    ProtobufMessage label;
    label.add(1, text(name));
    label.add(2, text(value));
    sample.add(3, label);
  }

  void write_locations() {
    for (std::size_t i = 0; i < all_.names.size(); ++i) {
      const PythonPlace place = python_place(all_.names[i]);
      ProtobufMessage line, location, function;
      line.add(1, i + 1);
      if (place.line > 0) line.add(2, place.line);
      location.add(1, i + 1);
      location.add(4, line);
      whole_.add(kLocation, location);
      function.add(1, i + 1);
      function.add(2, text(place.function));
      function.add(3, text(place.function));
      if (!place.file.empty()) function.add(4, text(place.file));
      whole_.add(kFunction, function);
      flush(kFlushBytes);
    }
  }

  void flush(std::size_t from_bytes) {
    if (whole_.bytes().size() < from_bytes) return;
    sink_(whole_.bytes());
    whole_.clear();
  }

  const WeightedStacks& all_;
  const Sink& sink_;
  ProtobufMessage whole_;
  std::vector<std::string> texts_;
  std::map<std::string, std::uint64_t> numbers_;
};

std::vector<std::string> write_pprof(const ExportRequest& request, const Sink& sink, const ExportProgress& progress) {
  const WeightedStacks all = collect_stacks(request.run, request.steps, true, progress);
  Writer(all, sink).write();
  return all.problems;
}

}  // namespace

ExportForm pprof_form() {
  return {"--pprof", "The same for pprof, with rank, thread and step as labels; PATH ends in .pb.gz",
          ExportKind::kStacks, write_pprof};
}

}  // namespace hostprobe::analysis
