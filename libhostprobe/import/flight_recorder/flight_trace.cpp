// flight_trace.cpp: see flight_trace.h.
#include "flight_trace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "flight_dump.h"
#include "format/record.h"
#include "import/input/call_trace.h"
#include "import/input/json_values.h"
#include "import/input/pickle.h"
#include "import/input/whole_text.h"
#include "import/kineto/collective_names.h"
#include "import/kineto/profile_origin.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::int64_t kLongestDumpNs = 6LL * 3600 * 1'000'000'000;  // between the last operation and the dump
constexpr std::uint32_t kNoRankPid = 1 << 24;
constexpr char kDefaultGroup[] = "default_pg";

struct ReadDump {
  std::string path;
  std::optional<int> rank;
  FlightDump dump;
  bool is_read = false;
  std::uint64_t read_bytes = 0, all_bytes = 0;
};

// Pickles begin with their protocol, 2 or later; JSON never does.
PlainReading read_values(const WholeText& text, PlainDocument& document) {
  const std::string_view bytes(text.text.get() + text.begin, text.bytes - text.begin);
  return bytes.starts_with('\x80') ? read_pickle(bytes, document) : read_json_values(bytes, document);
}

std::optional<int> rank_of_path(const std::string& path) {
  const std::filesystem::path file(path);
  const auto own = rank_in(file.filename().string());
  return own ? own : rank_in(file.parent_path().filename().string());
}

ReadDump read_dump(const std::string& path, FlightImport& made) {
  ReadDump read{path, rank_of_path(path), {}, false, 0, 0};
  const std::optional<WholeText> text = whole_text(path, kMostBytes);
  if (!text) {
    made.problem = fmt::format("it is empty, or has more than {} MiB", kMostBytes >> 20);
    return read;
  }
  PlainDocument document;
  const PlainReading reading = read_values(*text, document);
  made.problem = reading.problem;
  read.read_bytes = reading.read_bytes;
  read.all_bytes = text->bytes;
  if (!is_flight_dump(reading.value)) {
    made.problem = "it is no dump of the Flight Recorder" + (reading.problem.empty() ? "" : ": " + reading.problem);
    return read;
  }
  read.dump = flight_dump(*reading.value, made.left_out);
  read.is_read = true;
  return read;
}

// The groups of a job, as all of its dumps know them together.
class Groups {
 public:
  explicit Groups(const std::vector<ReadDump>& dumps) {
    for (const ReadDump& one : dumps) {
      for (const auto& [name, ranks] : one.dump.group_ranks) {
        std::vector<int>& known = listed_[name];
        if (ranks.size() > known.size()) known = ranks;
        for (const int rank : ranks) world_ = std::max(world_, rank + 1);
      }
      if (one.rank) world_ = std::max(world_, *one.rank + 1);
      for (const FlightOperation& operation : one.dump.operations) {
        if (one.rank) seen_[operation.group].insert(*one.rank);
        if (operation.description == kDefaultGroup) default_.insert(operation.group);
      }
    }
  }

  int world() const { return world_; }
  int size(const std::string& group) const { return static_cast<int>(ranks(group).size()); }
  // Of a rank of the job on the group; -1: it is not known to be in it.
  int place(const std::string& group, const std::optional<int>& rank) const {
    const std::vector<int> all = ranks(group);
    const auto found = rank ? std::find(all.begin(), all.end(), *rank) : all.end();
    return found == all.end() ? -1 : static_cast<int>(found - all.begin());
  }

 private:
  std::vector<int> ranks(const std::string& group) const {
    if (const auto found = listed_.find(group); found != listed_.end()) return found->second;
    std::vector<int> all;
    if (default_.contains(group))
      for (int rank = 0; rank < world_; ++rank) all.push_back(rank);
    else if (const auto seen = seen_.find(group); seen != seen_.end())
      all.assign(seen->second.begin(), seen->second.end());
    return all;
  }

  std::map<std::string, std::vector<int>> listed_;
  std::map<std::string, std::set<int>> seen_;  // ranks of the job that used it
  std::set<std::string> default_;
  int world_ = 0;
};

// FNV-1a, of 64 bits.
std::uint64_t communicator_of(const std::string& group) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : group) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

// "nccl:send 0->1": of the other end 1; -1: the name says none.
int peer_of(const std::string& name) {
  const std::size_t arrow = name.find_first_of("<>-", name.find(' '));
  const std::size_t digits = arrow == std::string::npos ? arrow : name.find_first_of("0123456789", arrow);
  return digits == std::string::npos || name.size() - digits > 7 ? -1 : std::stoi(name.substr(digits));
}

// "all_reduce" of "nccl:all_reduce", "send" of "nccl:send 0->1".
std::string operation_of(const std::string& name) {
  const std::size_t begin = name.find(':') + 1;
  std::string plain = name.substr(begin, name.find(' ', begin) - begin);
  if (plain.ends_with("_barrier")) plain = "barrier";
  return collective_operation(plain);
}

class RankTrace {
 public:
  RankTrace(const ReadDump& read, const Groups& groups, const std::string& run, std::size_t number, FlightImport& made)
      : read_(read), groups_(groups), made_(made), out_(run, origin(read, groups, number)) {
    if (read.rank) made_.note = fmt::format("rank {} guessed from the name of the file", *read.rank);
  }

  void write() {
    for (const FlightOperation& operation : read_.dump.operations) add(operation);
    if (out_.empty() && read_.dump.operations.empty()) made_.left_out.add("dumps without an operation");
    if (out_.empty()) return;
    if (const auto ns = dumped_ns()) out_.lived(*ns);
    made_.traces.push_back(out_.finish(made_.left_out, made_.problem, read_.read_bytes, read_.all_bytes));
  }

 private:
  // A process whose operations are over waits for nobody: what another one does not do is no hang then.
  static TracedOrigin origin(const ReadDump& read, const Groups& groups, std::size_t number) {
    const auto& operations = read.dump.operations;
    TracedOrigin origin;
    origin.source = kFromDump;
    origin.is_open =
        std::any_of(operations.begin(), operations.end(), [](const FlightOperation& one) { return !one.is_over; });
    origin.mode = "dump";
    origin.pid =
        read.rank ? static_cast<std::uint32_t>(*read.rank) + 1 : kNoRankPid + static_cast<std::uint32_t>(number);
    origin.rank = read.rank.value_or(-1);
    origin.world_size = groups.world() > 0 ? groups.world() : -1;
    origin.command = std::filesystem::path(read.path).filename().string();
    origin.is_rank_guessed = read.rank.has_value();
    if (read.rank) origin.note = fmt::format("rank {} guessed from the name of the file", *read.rank);
    return origin;
  }

  // By the file's own time, which a copy may have changed: then it lies far behind.
  std::optional<std::int64_t> dumped_ns() const {
    struct stat status = {};
    if (stat(read_.path.c_str(), &status) != 0) return std::nullopt;
    const std::int64_t made_ns = status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
    std::int64_t last_ns = 0;
    for (const FlightOperation& one : read_.dump.operations) last_ns = std::max(last_ns, one.begin_ns);
    return made_ns >= last_ns && made_ns - last_ns < kLongestDumpNs ? std::optional(made_ns) : std::nullopt;
  }

  void add(const FlightOperation& operation) {
    const std::string name = operation_of(operation.name);
    if (name.empty()) return made_.left_out.add("operations '" + operation.name.substr(0, 64) + "'");
    if (operation.is_over && !operation.completed_ns)
      made_.left_out.add("operations without an end, taken to have lasted no time");
    TimedCall call;
    call.tid = thread_of(operation);
    call.begin_ns = operation.begin_ns;
    call.end_ns = operation.completed_ns.value_or(operation.begin_ns);
    call.hook = out_.hook(
        {.name = name, .family = Family::kNccl, .labels = {"comm:hex", "count", "call:nccl", "", "place:ranks"}});
    call.stack = out_.stack(operation.frames);
    const int type = collective_type(operation.type), size = groups_.size(operation.group);
    call.a = communicator_of(operation.group);
    call.b = operation.elements;
    call.c = pack_nccl_call(operation.sequence, 0, type, kNcclNoOp);
    call.e = pack_nccl_ranks(groups_.place(operation.group, read_.rank), size,
                             operation.is_message ? peer_of(operation.name) : -1);
    // Without a number it meets no operation of another rank.
    call.flags = operation.sequence == 0 ? kRecordRelative : 0;
    out_.add(call);
  }

  // Numbers of our own: what PyTorch dumps is no id of the kernel's. None is the process's, for it is not known who is the main one.
  std::uint32_t thread_of(const FlightOperation& operation) {
    const auto [found, fresh] =
        threads_.try_emplace(operation.thread, kNoRankPid + static_cast<std::uint32_t>(threads_.size()));
    if (fresh) out_.name_thread(found->second, operation.thread_name);
    return found->second;
  }

  const ReadDump& read_;
  const Groups& groups_;
  FlightImport& made_;
  CallTrace out_;
  std::map<std::string, std::uint32_t> threads_;
};

}  // namespace

std::vector<FlightImport> import_flight_dumps(const std::vector<std::string>& paths, const std::string& run,
                                              const ReadProgress& progress) {
  std::vector<FlightImport> made(paths.size());
  std::vector<ReadDump> dumps;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    dumps.push_back(read_dump(paths[i], made[i]));
    bytes += dumps.back().all_bytes;
    if (progress) progress(bytes);
  }
  const Groups groups(dumps);
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (dumps[i].is_read) RankTrace(dumps[i], groups, run, i, made[i]).write();
  for (FlightImport& one : made)
    if (one.traces.empty() && one.problem.empty()) one.problem = "no operation is in it";
  return made;
}

}  // namespace hostprobe::analysis
