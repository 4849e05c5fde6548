// profile_reader.cpp: see profile_reader.h.
#include "profile_reader.h"

#ifdef __SSE2__
#define RAPIDJSON_SSE2
#endif
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <array>
#include <cstring>
#include <future>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "import/input/whole_text.h"
#include "trace/file_bytes.h"

namespace hostprobe::analysis {
namespace {

using Field = ProfileField;
constexpr std::size_t kMostTextBytes = 1 << 16;  // of one field: a name that is longer is cut
// The parser calls itself for each list and object, and a file could be nothing but brackets.
constexpr int kMostDepth = 256;

// Names by their length: most are seen by that alone to be none of them.
class Fields {
 public:
  Fields(std::initializer_list<std::pair<std::string_view, Field>> all) {
    for (const auto& one : all) by_length_[one.first.size()].push_back(one);
  }
  std::optional<Field> find(std::string_view name) const {
    if (name.size() < by_length_.size())
      for (const auto& [own, field] : by_length_[name.size()])
        if (own.front() == name.front() && own == name) return field;
    return std::nullopt;
  }

 private:
  std::array<std::vector<std::pair<std::string_view, Field>>, 24> by_length_;
};

const Fields kEventFields = {{"ph", Field::kPhase},    {"cat", Field::kCategory}, {"name", Field::kName},
                             {"pid", Field::kPid},     {"tid", Field::kTid},      {"ts", Field::kTime},
                             {"dur", Field::kDuration}};
const Fields kArgFields = {{"name", Field::kOwnName},
                           {"labels", Field::kLabels},
                           {"correlation", Field::kCorrelation},
                           {"device", Field::kDevice},
                           {"stream", Field::kStream},
                           {"bytes", Field::kBytes},
                           {"shared memory", Field::kSharedBytes},
                           {"grid", Field::kGrid},
                           {"block", Field::kBlock},
                           {"Input Dims", Field::kInputDims},
                           {"Input type", Field::kInputType},
                           {"Collective name", Field::kCollective},
                           {"dtype", Field::kDataType},
                           {"In msg nelems", Field::kElementsIn},
                           {"Out msg nelems", Field::kElementsOut},
                           {"Group size", Field::kGroupSize},
                           {"Process Group Name", Field::kGroupName},
                           {"Process Group Ranks", Field::kGroupRanks},
                           {"Rank", Field::kRank},
                           {"Seq", Field::kSequence},
                           {"Src Rank", Field::kFromRank},
                           {"Dst Rank", Field::kToRank}};

// What the parser reads from.
class Source {
 public:
  using Ch = char;
  explicit Source(TextFile& file) : file_(file) {}
  Ch Peek() const { return file_.peek(); }
  Ch Take() { return file_.take(); }
  std::size_t Tell() const { return file_.taken(); }
  Ch* PutBegin() { return nullptr; }
  void Put(Ch) {}
  void Flush() {}
  std::size_t PutEnd(Ch*) { return 0; }

 private:
  TextFile& file_;
};

// Knows where in the document the parser is: the list of events is that of "traceEvents", or the document itself.
class Events {
 public:
  Events(const OnProfileEvent& on_event, LeftOut& left_out) : on_event_(on_event), left_out_(left_out) {}

  bool Null() { return value({}); }
  bool Bool(bool) { return value({}); }
  bool Int(int) { return value({}); }
  bool Uint(unsigned) { return value({}); }
  bool Int64(std::int64_t) { return value({}); }
  bool Uint64(std::uint64_t) { return value({}); }
  bool Double(double) { return value({}); }
  bool RawNumber(const char* text, std::size_t length, bool) { return value({text, length}); }
  bool String(const char* text, std::size_t length, bool) { return value({text, length}); }
  bool Key(const char* text, std::size_t length, bool) {
    const std::string_view key(text, length);
    if (depth_ == 1) root_key_ = key;
    if (depth_ == 2 && events_depth_ == 0) inner_key_ = key;
    if (events_depth_ == 0) return true;
    if (depth_ == events_depth_ + 1) {
      field_ = kEventFields.find(key);
      in_args_ = key == "args";
    } else if (depth_ == events_depth_ + 2 && in_args_) {
      field_ = kArgFields.find(key);
    }
    return true;
  }
  bool StartObject() {
    if (depth_ == 0) root_is_object_ = true;
    if (++depth_ > kMostDepth) return false;
    if (events_depth_ != 0 && depth_ == events_depth_ + 1) {
      event_.clear();
      in_args_ = false;
    }
    field_.reset();
    return true;
  }
  bool EndObject(std::size_t) {
    if (events_depth_ != 0 && depth_ == events_depth_ + 1) {
      ++events_;
      on_event_(event_);
    }
    --depth_;
    field_.reset();
    return true;
  }
  bool StartArray() {
    if (++depth_ > kMostDepth) return false;
    const bool is_list = depth_ == 1 || (depth_ == 2 && root_is_object_ && root_key_ == "traceEvents");
    if (events_depth_ == 0 && is_list) events_depth_ = depth_;
    return true;
  }
  bool EndArray(std::size_t) {
    if (events_depth_ == depth_) events_depth_ = 0;
    --depth_;
    if (events_depth_ != 0 && depth_ <= events_depth_ + 2) field_.reset();
    if (field_ && in_args_ && depth_ == events_depth_ + 3) event_[*field_] += ',';
    return true;
  }

  std::uint64_t events() const { return events_; }
  ProfileHead& head() { return head_; }
  // The next element that is told is one of the list of events.
  bool is_in_list() const { return events_depth_ != 0 && depth_ == events_depth_; }
  // What comes is a list in the document's object, under that key,
  void enter_object(std::string_view key) {
    depth_ = 1;
    root_is_object_ = true;
    root_key_ = key;
  }
  // or that object itself.
  void leave_object() { depth_ = 0; }

 private:
  bool value(std::string_view text) {
    if (events_depth_ == 0) {
      head_value(text);
    } else if (depth_ == events_depth_) {
      left_out_.add("elements of the list of events that are no events");
    } else if (field_) {
      event_value(text);
    }
    return true;
  }

  void event_value(std::string_view text) {
    std::string& own = event_[*field_];
    const int inside = depth_ - events_depth_ - (in_args_ ? 2 : 1);
    if (inside < 0 || own.size() + text.size() >= kMostTextBytes) text = text.substr(0, kMostTextBytes / 2);
    if (own.size() >= kMostTextBytes) return;
    if (inside > 0) {
      own += text;
      own += inside == 1 ? ',' : ' ';  // a list inside the list: its elements are parted by blanks
    } else {
      own = text;
      field_.reset();
    }
  }

  void head_value(std::string_view text) {
    if (depth_ == 1 && root_key_ == "baseTimeNanoseconds") head_.base_time_ns = text;
    if (depth_ == 1 && root_key_ == "host_name") head_.host = text;
    if (depth_ == 1 && root_key_ == "traceName") head_.name = text;
    if (depth_ != 2 || root_key_ != "distributedInfo") return;
    if (inner_key_ == "rank") head_.rank = text;
    if (inner_key_ == "world_size") head_.world_size = text;
  }

  const OnProfileEvent& on_event_;
  LeftOut& left_out_;
  ProfileHead head_;
  ProfileEvent event_;
  std::optional<Field> field_;
  std::string root_key_, inner_key_;
  int depth_ = 0;
  int events_depth_ = 0;  // of the list of events; 0 = the parser is not inside of it
  bool root_is_object_ = false;
  bool in_args_ = false;
  std::uint64_t events_ = 0;
};

// Numbers as text: a double holds no nanoseconds of today.
constexpr unsigned kFlags =
    rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag | rapidjson::kParseStopWhenDoneFlag;

using InSitu = rapidjson::InsituStringStream;

rapidjson::ParseResult parse(InSitu& source, Events& events) {
  return rapidjson::Reader().Parse<kFlags | rapidjson::kParseInsituFlag>(source, events);
}

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
char* behind_blanks(char* at) {
  while (is_blank(*at)) ++at;
  return at;
}

// The comma between two elements of a list that look like events, as far as the text around tells. At least one blank is behind it.
// nullptr: there is none behind `from`.
char* comma_between(char* from) {
  for (char* at = from; (at = std::strchr(at, '}')) != nullptr; ++at) {
    char* const comma = behind_blanks(at + 1);
    if (*comma != ',' || !is_blank(comma[1])) continue;
    char* const next = behind_blanks(comma + 1);
    // A text inside of a text would have a backslash before its quote.
    if (*next == '{' && *behind_blanks(next + 1) == '"') return comma;
  }
  return nullptr;
}

// The list that begins there, and what of the document stands behind it. `in_object`: the list is the one of "traceEvents".
bool parse_rest(char* list, bool in_object, Events& events) {
  if (in_object) events.enter_object("traceEvents");
  InSitu source(list);
  if (parse(source, events).IsError()) return false;
  if (!in_object) return true;
  char* const behind = behind_blanks(list + source.Tell());
  if (*behind == '}') return true;
  if (*behind != ',' || *behind_blanks(behind + 1) != '"') return false;
  *behind = '{';
  events.leave_object();
  InSitu rest(behind);
  return !parse(rest, events).IsError();
}

// What the later one says of itself counts.
ProfileHead joined(ProfileHead first, ProfileHead second) {
  for (const auto field : {&ProfileHead::base_time_ns, &ProfileHead::rank, &ProfileHead::world_size, &ProfileHead::host,
                           &ProfileHead::name})
    if (!(second.*field).empty()) first.*field = std::move(second.*field);
  return first;
}

std::string why_not(const rapidjson::ParseResult& result) {
  if (result.Code() == rapidjson::kParseErrorTermination)
    return fmt::format("lists and objects lie more than {} deep in each other", kMostDepth);
  return rapidjson::GetParseError_En(result.Code());
}

}  // namespace

ProfileReading read_profile(const std::string& path, const OnProfileEvent& on_event, LeftOut& left_out,
                            const ReadProgress& progress, std::size_t most_whole_bytes) {
  Events events(on_event, left_out);
  rapidjson::ParseResult result;
  std::string why;
  std::uint64_t all_bytes = 0;
  if (const std::optional<WholeText> whole = whole_text(path, most_whole_bytes)) {
    all_bytes = whole->bytes;
    InSitu source(whole->text.get());
    result = parse(source, events);
    if (progress) progress(file_bytes(path));
  } else {
    TextFile file(path, progress);
    Source source(file);
    result = rapidjson::Reader().Parse<kFlags>(source, events);
    why = file.problem();
    if (why.empty() && file.is_plain()) all_bytes = file_bytes(path);
  }
  ProfileReading reading{std::move(events.head()), events.events(), {}};
  if (!result.IsError()) return reading;
  reading.problem = fmt::format("byte {}: {}", result.Offset(), why.empty() ? why_not(result) : why);
  reading.read_bytes = result.Offset();
  reading.all_bytes = all_bytes;
  return reading;
}

// The first half ends in the place of a comma, which is the only thing that is wrong with it where the comma stood in the list of
// events; the second half is a list of its own.
std::optional<ProfileReading> read_profile_halves(const std::string& path, const ProfilePart& first,
                                                  const ProfilePart& second, const ReadProgress& progress,
                                                  std::size_t least_bytes) {
  const std::optional<WholeText> whole = whole_text(path, kMostWholeBytes);
  if (!whole || whole->bytes < least_bytes) return std::nullopt;
  char* const text = whole->text.get();
  char* const comma = comma_between(text + whole->bytes / 2);
  if (comma == nullptr) return std::nullopt;
  comma[0] = '\0';
  comma[1] = '[';
  const bool in_object = *behind_blanks(text) == '{';
  Events before(first.on_event, first.left_out), behind(second.on_event, second.left_out);
  auto rest =
      std::async(std::launch::async | std::launch::deferred, parse_rest, comma + 1, in_object, std::ref(behind));
  InSitu source(text);
  const rapidjson::ParseResult result = parse(source, before);
  const bool is_halved = result.Code() == rapidjson::kParseErrorArrayMissCommaOrSquareBracket &&
                         result.Offset() == static_cast<std::size_t>(comma - text) && before.is_in_list();
  if (!rest.get() || !is_halved) return std::nullopt;
  if (progress) progress(file_bytes(path));
  return ProfileReading{
      joined(std::move(before.head()), std::move(behind.head())), before.events() + behind.events(), {}};
}

}  // namespace hostprobe::analysis
