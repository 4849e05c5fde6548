// run.cpp: see run.h.
#include "run.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "trace/file_bytes.h"
#include "trace/reader.h"
#include "trace/trace_head.h"

namespace hostprobe::tables {
namespace {

using analysis::boot_of, analysis::host_of;

std::string line_of(const std::string& path, const analysis::Damage& damage) {
  return fmt::format("{}: {} bytes at offset {}: {}", path, damage.bytes, damage.offset, damage.what);
}

analysis::ChosenJob choose(const std::string& path, std::optional<unsigned> job, const std::string& host) {
  try {
    analysis::ChosenJob chosen(path, job);
    if (!host.empty()) chosen.keep_host(host);
    return chosen;
  } catch (const std::invalid_argument& error) {
    throw BadRequest(error.what());
  }
}

}  // namespace

Run::Run(const std::string& path, std::optional<unsigned> job, const std::string& host, Answers answers)
    : answers_(std::move(answers)), chosen_(choose(path, job, host)), path_(chosen_.path) {
  const std::vector<std::string>& paths = chosen_.traces;
  for (const std::string& one : paths)
    if (!read_head(one)) read_damaged(one);
  if (paths.empty())
    throw BadRequest(fmt::format("{} holds no trace: a run folder has *.hptrace files in it", chosen_.words()));
  if (traces_.empty())
    throw BadRequest(fmt::format("no trace in {} could be read; {}", chosen_.words(),
                                 problems_.empty() ? "it holds only what the kernel told" : problems_.front()));
  std::int64_t start_ns = INT64_MAX;
  for (const TraceHead& head : traces_)
    start_ns =
        std::min(start_ns, static_cast<std::int64_t>(head.begin_monotonic_ns) + shift_of(head.host, head.boot_id));
  start_realtime_ns_ = static_cast<std::uint64_t>(start_ns);
  open_.resize(traces_.size());
}

// False: it is damaged, foreign, or newer than this; the reader has to say.
bool Run::read_head(const std::string& path) {
  const std::optional<FileHeader> known = analysis::head_of(path);
  if (!known) return false;
  const FileHeader& header = *known;
  if (header.source == kFromKernel) return true;  // of no process: it has no rows for these tables
  const ClockPair& first = header.start.ticks != 0 ? header.start : header.first;
  add({path, 0, header.rank, host_of(header), boot_of(header), first.monotonic_ns},
      static_cast<std::int64_t>(first.realtime_ns - first.monotonic_ns));
  return true;
}

void Run::read_damaged(const std::string& path) {
  const std::shared_ptr<const OpenTrace> open = read(path);
  if (open == nullptr) return;
  const analysis::TickClock& clock = open->trace.clock;
  const FileHeader& header = open->trace.header;
  add({path, 0, header.rank, host_of(header), boot_of(header), clock.monotonic_ns(clock.first_ticks())},
      clock.realtime_offset_ns());
}

void Run::add(TraceHead head, std::int64_t realtime_offset_ns) {
  realtime_offsets_.try_emplace({head.host, head.boot_id}, realtime_offset_ns);
  head.bytes = analysis::file_bytes(head.path);
  traces_.push_back(std::move(head));
}

std::int64_t Run::shift_of(const std::string& host, const std::string& boot_id) const {
  const auto found = realtime_offsets_.find({host, boot_id});
  return (found == realtime_offsets_.end() ? 0 : found->second) - static_cast<std::int64_t>(start_realtime_ns_);
}

std::shared_ptr<const OpenTrace> Run::read(const std::string& path) {
  try {
    auto open = std::make_shared<OpenTrace>(analysis::read_trace(path, &analysis::g_memory), symbols_);
    for (const analysis::Damage& damage : open->trace.damages) note(line_of(path, damage));
    open->shift_ns = shift_of(host_of(open->trace.header), boot_of(open->trace.header));
    return open;
  } catch (const analysis::TraceError& error) {
    note(fmt::format("{}: offset {}: {}", path, error.offset, error.what()));
  } catch (const std::system_error& error) {
    note(fmt::format("{}: {}", path, error.what()));
  }
  return nullptr;
}

std::shared_ptr<const OpenTrace> Run::trace(std::size_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (auto open = open_[number].lock()) return open;
  }
  std::shared_ptr<const OpenTrace> open = read(traces_[number].path);
  const std::lock_guard lock(mutex_);
  open_[number] = open;
  return open;
}

std::shared_ptr<const analysis::DeviceTimeline> Run::device_of(const OpenTrace& open) {
  if (auto exact = analysis::exact_device(open.timeline)) return exact;
  const std::lock_guard lock(devices_mutex_);
  if (!devices_) {
    devices_.emplace();
    for (std::size_t i = 0; i < traces_.size(); ++i)
      if (const auto one = trace(i)) devices_->add(one->timeline);
  }
  return devices_->of(open.timeline);
}

std::shared_ptr<const analysis::RunAnswer> Run::answer() {
  const std::lock_guard lock(answer_mutex_);
  if (answer_ != nullptr) return answer_;
  analysis::trace_paths(path_);  // throws where the run went away, which is more than traces that cannot be read
  answer_ = answers_.analyse(chosen_);
  for (const analysis::Unreadable& one : answer_->unreadable)
    note(fmt::format("{}: offset {}: {}", one.path, one.offset, one.what));
  for (const analysis::ProcessAnswer& process : answer_->processes)
    for (const analysis::Damage& damage : process.damages) note(line_of(process.trace_path, damage));
  return answer_;
}

void Run::note(const std::string& problem) {
  const std::lock_guard lock(mutex_);
  if (std::find(problems_.begin(), problems_.end(), problem) == problems_.end()) problems_.push_back(problem);
}

std::vector<std::string> Run::problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

Metadata Run::metadata() const {
  return {{"hostprobe.run", path_}, {"hostprobe.start_realtime_ns", std::to_string(start_realtime_ns_)}};
}

}  // namespace hostprobe::tables
