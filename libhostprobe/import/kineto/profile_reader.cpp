// profile_reader.cpp: see profile_reader.h.
#include "profile_reader.h"

#ifdef __SSE2__
#define RAPIDJSON_SSE2
#endif
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <utility>

#include "import/input/characters.h"
#include "import/input/whole_text.h"
#include "trace/file_bytes.h"

namespace hostprobe::analysis {
namespace {

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

// Numbers as text: a double holds no nanoseconds of today.
constexpr unsigned kFlags =
    rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag | rapidjson::kParseStopWhenDoneFlag;

using InSitu = rapidjson::InsituStringStream;

template <typename Text>
std::uint64_t taken_of(const void* source) {
  return static_cast<const Text*>(source)->Tell();
}
template <>
std::uint64_t taken_of<InSitu>(const void* source) {
  const auto& own = *static_cast<const InSitu*>(source);
  return static_cast<std::uint64_t>(own.src_ - own.head_);
}

// `base`: bytes of the text before the source.
rapidjson::ParseResult parse(InSitu& source, std::size_t base, EventBuilder& events) {
  events.read_from({&taken_of<InSitu>, &source, base});
  return rapidjson::Reader().Parse<kFlags | rapidjson::kParseInsituFlag>(source, events);
}

rapidjson::ParseResult parse(Source& source, EventBuilder& events) {
  events.read_from({&taken_of<Source>, &source, 0});
  return rapidjson::Reader().Parse<kFlags>(source, events);
}

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

// Blanks and zeros, with which files are padded, belong to no other document.
bool is_padding(char c) { return c == '\0' || is_blank(c); }
bool is_end(const char* at, const char* end) { return std::all_of(at, end, is_padding); }
bool is_end(TextFile& file) {
  while (!file.at_end() && is_padding(file.peek())) file.take();
  return file.at_end();
}

// A text that may be written into.
struct Stretch {
  char *begin, *end;
};

// The list that begins there, and what of the document stands behind it. `in_object`: the list is the one of "traceEvents".
bool parse_rest(Stretch text, std::size_t base, bool in_object, EventBuilder& events) {
  if (in_object) events.enter_object("traceEvents");
  InSitu source(text.begin);
  if (parse(source, base, events).IsError()) return false;
  if (!in_object) return is_end(source.src_, text.end);
  char* const behind = behind_blanks(source.src_);
  if (*behind == '}') return is_end(behind + 1, text.end);
  if (*behind != ',' || *behind_blanks(behind + 1) != '"') return false;
  *behind = '{';
  events.leave_object();
  InSitu rest(behind);
  return !parse(rest, base, events).IsError() && is_end(rest.src_, text.end);
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

constexpr const char* kMoreText = "behind the document there is more";

// How a text was read: up to where, and what was wrong there; "" = nothing.
struct TextReading {
  std::uint64_t at = 0, all_bytes = 0;
  std::string why;
};

TextReading read_whole(WholeText& whole, EventBuilder& events) {
  char* const end = whole.text.get() + whole.bytes;
  InSitu source(whole.text.get() + whole.begin);
  const rapidjson::ParseResult result = parse(source, 0, events);
  const std::size_t at = result.IsError() ? result.Offset() : source.Tell();
  TextReading reading{at, whole.bytes - whole.begin, {}};
  if (result.IsError())
    reading.why = why_not(result);
  else if (!is_end(source.src_, end))
    reading.why = kMoreText;
  return reading;
}

TextReading read_pieces(const std::string& path, const ReadProgress& progress, EventBuilder& events) {
  TextFile file(path, progress);
  Source source(file);
  const rapidjson::ParseResult result = parse(source, events);
  TextReading reading{result.IsError() ? result.Offset() : source.Tell(), 0, {}};
  if (result.IsError())
    reading.why = file.problem().empty() ? why_not(result) : file.problem();
  else
    reading.why = is_end(file) ? file.problem() : kMoreText;
  if (file.problem().empty() && file.is_plain()) reading.all_bytes = file_bytes(path);
  return reading;
}

}  // namespace

ProfileReading read_profile(const std::string& path, const OnProfileEvent& on_event, LeftOut& left_out,
                            const ReadProgress& progress, std::size_t most_whole_bytes) {
  EventBuilder events(on_event, left_out);
  std::optional<WholeText> whole = whole_text(path, most_whole_bytes);
  const TextReading text = whole ? read_whole(*whole, events) : read_pieces(path, progress, events);
  if (whole && progress) progress(file_bytes(path));
  ProfileReading reading{std::move(events.head()), events.events(), {}};
  if (text.why.empty()) return reading;
  reading.problem = fmt::format("byte {}: {}", text.at, text.why);
  reading.read_bytes = text.at;
  reading.all_bytes = text.all_bytes;
  return reading;
}

// The first half ends in the place of a comma, which is the only thing that is wrong with it where the comma stood in the list of
// events; the second half is a list of its own.
std::optional<ProfileReading> read_profile_halves(const std::string& path, const ProfilePart& first,
                                                  const ProfilePart& second, const ReadProgress& progress,
                                                  std::size_t least_bytes) {
  const std::optional<WholeText> whole = whole_text(path, kMostWholeBytes);
  if (!whole || whole->bytes < least_bytes) return std::nullopt;
  char* const text = whole->text.get() + whole->begin;
  char* const end = whole->text.get() + whole->bytes;
  char* const comma = comma_between(text + whole->bytes / 2);
  if (comma == nullptr) return std::nullopt;
  comma[0] = '\0';
  comma[1] = '[';
  const bool in_object = *behind_blanks(text) == '{';
  EventBuilder before(first.on_event, first.left_out), behind(second.on_event, second.left_out);
  auto rest = std::async(std::launch::async | std::launch::deferred, parse_rest, Stretch{comma + 1, end},
                         static_cast<std::size_t>(comma + 1 - text), in_object, std::ref(behind));
  InSitu source(text);
  const rapidjson::ParseResult result = parse(source, 0, before);
  const bool is_halved = result.Code() == rapidjson::kParseErrorArrayMissCommaOrSquareBracket &&
                         result.Offset() == static_cast<std::size_t>(comma - text) && before.is_in_list();
  if (!rest.get() || !is_halved) return std::nullopt;
  if (progress) progress(file_bytes(path));
  return ProfileReading{
      joined(std::move(before.head()), std::move(behind.head())), before.events() + behind.events(), {}};
}

}  // namespace hostprobe::analysis
