// damaged_profile.cpp: see damaged_profile.h.
#include "damaged_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "event_check.h"
#include "event_start.h"
#include "import/input/text_window.h"
#include "lenient_json.h"

namespace hostprobe::analysis {
namespace {

constexpr const char* kMends[] = {"strings with raw control bytes", "strings with quotes that are not escaped",
                                  "strings with escapes that are none", "values that are no JSON"};
static_assert(sizeof(kMends) / sizeof(kMends[0]) == static_cast<std::size_t>(TextMend::kCount));

constexpr const char *kDamaged = "events that are damaged", *kCut = "events that the end of the text cuts",
                     *kTooLong = "events longer than 16 MiB", *kOutside = "damaged places outside of events",
                     *kCommas = "commas between events, missing or too many",
                     *kNoListEnd = "lists of events without an end", *kEndless = "the list of events has no end";

std::string why_of(TextFlaw flaw) {
  if (flaw == TextFlaw::kTooDeep)
    return fmt::format("lists and objects lie more than {} deep in each other", kMostDepth);
  if (flaw == TextFlaw::kOpenString) return "a string has no end";
  return flaw == TextFlaw::kNeedsMore ? "the text ends in the middle of an event" : "this is no JSON";
}

std::string why_of(EventFault fault, TextFlaw flaw) {
  if (fault == EventFault::kTwice) return "an event has a field twice";
  return fault == EventFault::kInside ? "an event begins inside of another one" : why_of(flaw);
}

// Listens to values of the document that are no events.
class ValueCheck {
 public:
  struct Finding {};
  explicit ValueCheck(const LenientText&) {}
  static Finding finding() { return {}; }
  static void end(LenientText&) {}
  static bool Null() { return true; }
  static bool RawNumber(const char*, std::size_t, bool) { return true; }
  static bool String(const char*, std::size_t, bool) { return true; }
  static bool Key(const char*, std::size_t, bool) { return true; }
  static bool StartObject() { return true; }
  static bool StartArray() { return true; }
  static bool EndObject(std::size_t) { return true; }
  static bool EndArray(std::size_t) { return true; }
};

// Of what stands in the list of events and is none: it is an element only if that is all there is between two commas.
class ElementCheck : public ValueCheck {
 public:
  using ValueCheck::ValueCheck;
  static void end(LenientText& text) {
    const char next = text.peek();
    const bool is_word = text.mends()[static_cast<std::size_t>(TextMend::kWords)].count == 0;
    if ((next != ',' && next != ']') || !is_word) text.fail(TextFlaw::kNoJson);
  }
};

// What became of reading one value; the document has nothing of it yet.
template <typename Finding>
struct Attempt {
  TextFlaw flaw;
  std::size_t at;  // behind it, or where the flaw shows
  Finding finding;
};

class Reader {
 public:
  Reader(const std::string& path, const DamagedProfile& profile, const ReadProgress& progress)
      : profile_(profile), file_(path, progress), window_(file_) {}

  void read() {
    while (state_ != State::kEnd) step();
    finish_document();
  }

 private:
  enum class State : std::uint8_t { kStart, kObject, kList, kEnd };
  enum class Comma : std::uint8_t { kNone, kDue, kTaken };

  void step() {
    const char next = peek();
    if (window_.text().empty()) return end_of_text();
    if (state_ == State::kStart) return start(next);
    return state_ == State::kObject ? member(next) : element(next);
  }

  // ---- documents ----

  void start(char next) {
    if (next == '\0') return window_.drop(1);  // what files are padded with
    if (!is_document_ && known_start() == StartKind::kEvent) return enter_list();
    is_document_ = false;
    if (next != '{' && next != '[') return outside(window_.at(), why_of(TextFlaw::kNoJson), 0);
    if (builder_ && (builder_->events() > 0 || faults_ > 0)) finish_document();
    begin_document();
    window_.drop(1);
    state_ = State::kObject;
    if (next == '[') enter_list();
  }

  void begin_document() {
    builder_.emplace(profile_.on_event, profile_.left_out);
    builder_->read_from({&place_of, this, 0});
    begin_ = window_.at();
    skipped_ = faults_ = 0;
    problem_.clear();
  }

  void finish_document() {
    if (!builder_) return;
    ProfileReading reading{std::move(builder_->head()), builder_->events(), problem_};
    if (faults_ > 1) reading.problem += fmt::format(", and {} more place{}", faults_ - 1, faults_ == 2 ? "" : "s");
    if (faults_ > 0) reading.read_bytes = window_.at() - begin_ - skipped_;
    if (faults_ > 0 && file_.problem().empty()) reading.all_bytes = window_.at() - begin_;
    profile_.on_document(reading);
    builder_.reset();
  }

  void enter_list() {
    if (!builder_) begin_document();
    builder_->enter_list();
    comma_ = Comma::kNone;
    state_ = State::kList;
  }

  void enter_object() {
    if (!builder_) begin_document();
    state_ = State::kObject;
  }

  void end_of_text() {
    const std::uint64_t end = window_.at();
    if (!builder_) begin_document();
    if (!file_.problem().empty())
      fault(end, file_.problem());
    else if (state_ == State::kList)
      fault(end, kEndless);
    else if (state_ == State::kObject)
      fault(end, "the document has no end");
    state_ = State::kEnd;
  }

  void member(char next) {
    if (next == ',') return window_.drop(1);
    if (next == '}') {
      window_.drop(1);
      state_ = State::kStart;
      return;
    }
    std::string key;
    const std::uint64_t begin = window_.at();
    const auto found = attempt_key(key);
    if (found.flaw != TextFlaw::kNone) return outside(begin, why_of(found.flaw), found.at);
    window_.drop(found.at);
    if (peek() == '[' && key == "traceEvents") {
      window_.drop(1);
      return enter_list();
    }
    const auto value = attempt<ValueCheck>(StringPlace::kInDocument);
    if (value.flaw != TextFlaw::kNone) return outside(begin, why_of(value.flaw), value.at);
    builder_->enter_object(key);
    deliver(StringPlace::kInDocument);
  }

  // ---- the list of events ----

  void element(char next) {
    if (next == ',') return take_comma();
    if (next == ']') return end_list();
    if (next == '}' || (next == '"' && known_start() == StartKind::kRootKey)) {
      profile_.left_out.add_at(kNoListEnd, window_.at());
      return enter_object();
    }
    if (next == '{') return event();
    const auto found = attempt<ElementCheck>(StringPlace::kInArray);
    if (found.flaw != TextFlaw::kNone) return outside(window_.at(), why_of(found.flaw), found.at);
    deliver(StringPlace::kInArray);
  }

  void take_comma() {
    if (comma_ != Comma::kDue) profile_.left_out.add_at(kCommas, window_.at());
    comma_ = Comma::kTaken;
    window_.drop(1);
  }

  void end_list() {
    if (comma_ == Comma::kTaken) profile_.left_out.add_at(kCommas, window_.at());
    window_.drop(1);
    const char behind = peek();
    state_ = behind == ',' || behind == '}' ? State::kObject : State::kStart;
  }

  void event() {
    const bool is_behind_damage = std::exchange(is_behind_damage_, false);
    if (known_start() == StartKind::kDocument) return leave_list();
    if (comma_ == Comma::kDue) profile_.left_out.add_at(kCommas, window_.at());
    const auto found = attempt<EventCheck>(StringPlace::kInArray);
    const EventFinding& finding = found.finding;
    if (finding.fault == EventFault::kDocument) return leave_list();
    const bool is_whole = found.flaw == TextFlaw::kNone;
    if (is_whole && (finding.has_phase || !is_behind_damage)) return deliver(StringPlace::kInArray);
    const std::uint64_t begin = window_.at();
    const bool is_all = window_.is_all();
    resume(finding.fault == EventFault::kInside ? finding.inside_at : std::max<std::size_t>(found.at, 1));
    // What follows damage and is no event is the rest of what was damaged.
    if (finding.has_phase || !is_behind_damage) leave_out(found, begin, is_all);
  }

  void leave_list() {
    if (builder_->events() > 0) fault(window_.at(), kEndless);
    leave_for_document();
  }

  void leave_for_document() {
    is_document_ = true;
    state_ = State::kStart;
  }

  // `is_all`: no more of the text was to come. What goes on behind an event that has no end was not cut.
  void leave_out(const Attempt<EventFinding>& found, std::uint64_t begin, bool is_all) {
    const bool has_no_end = found.flaw == TextFlaw::kNeedsMore, is_cut = has_no_end && is_all && state_ == State::kEnd;
    profile_.left_out.add_at(is_cut ? kCut : has_no_end && !is_all ? kTooLong : kDamaged, begin);
    const TextFlaw flaw = has_no_end && !is_cut ? TextFlaw::kOpenString : found.flaw;
    fault(begin + found.at, is_cut && !file_.problem().empty() ? file_.problem() : why_of(found.finding.fault, flaw));
  }

  // ---- damage ----

  void fault(std::uint64_t byte, const std::string& why) {
    if (faults_++ == 0) problem_ = fmt::format("byte {}: {}", byte, why);
  }

  // What stands in front of a document, or behind it, and holds no event, takes nothing away from it.
  void outside(std::uint64_t begin, const std::string& why, std::size_t from) {
    const bool is_between = state_ == State::kStart, is_behind = is_between && builder_;
    if (!builder_) begin_document();
    profile_.left_out.add_at(kOutside, begin);
    resume(std::max<std::size_t>(from, 1));
    if (!(is_between && is_document_) && !(is_behind && state_ == State::kEnd)) fault(begin, why);
  }

  // At the next place where an event, or what stands around the list of events, begins.
  void resume(std::size_t from) {
    const std::uint64_t begin = window_.at();
    const bool with_root_keys = state_ == State::kObject || builder_->events() == 0;
    window_.drop(std::min(from, window_.text().size()));
    for (;;) {
      const FoundStart found = next_start(window_.text(), 0, window_.is_all(), with_root_keys);
      window_.drop(found.at);
      if (found.kind != StartKind::kNeedsMore && (found.kind != StartKind::kNone || window_.is_all())) {
        skipped_ += window_.at() - begin;
        return resume_with(found.kind);
      }
      window_.grow();
    }
  }

  void resume_with(StartKind kind) {
    if (kind == StartKind::kNone) state_ = State::kEnd;
    if (kind == StartKind::kDocument) leave_for_document();
    if (kind == StartKind::kRootKey) enter_object();
    if (kind == StartKind::kEvent || kind == StartKind::kListEnd) enter_list();
    is_behind_damage_ = kind == StartKind::kEvent;
  }

  // ---- the window ----

  // What is behind the blanks at its begin, which are dropped.
  char peek() {
    for (;;) {
      const std::string_view text = window_.text();
      const std::size_t at = std::min(text.find_first_not_of(" \n\r\t"), text.size());
      window_.drop(at);
      if (at < text.size()) return text[at];
      if (window_.is_all()) return '\0';
      window_.grow();
    }
  }

  // Of what begins there.
  StartKind known_start() {
    for (;;) {
      const StartKind kind = start_at(window_.text(), 0, window_.is_all());
      if (kind != StartKind::kNeedsMore) return kind;
      window_.grow();
    }
  }

  bool needs_more(TextFlaw flaw) const {
    return flaw == TextFlaw::kNeedsMore && !window_.is_all() && window_.text().size() < kMostEventBytes;
  }

  // Reads anew whenever the window had to grow.
  template <typename Check>
  Attempt<typename Check::Finding> attempt(StringPlace place) {
    for (;;) {
      LenientText text(window_.text(), window_.is_all());
      Check check(text);
      if (read_value(text, check, place)) Check::end(text);
      if (!needs_more(text.flaw())) return {text.flaw(), text.at(), check.finding()};
      window_.grow();
    }
  }

  // With its colon.
  Attempt<int> attempt_key(std::string& key) {
    for (;;) {
      LenientText text(window_.text(), window_.is_all());
      if (text.peek() == '"')
        key = text.string(StringPlace::kKey);
      else
        text.fail(TextFlaw::kNoJson);
      if (text.flaw() == TextFlaw::kNone && text.peek() != ':') text.fail(TextFlaw::kNoJson);
      if (text.flaw() == TextFlaw::kNone) text.take();
      if (!needs_more(text.flaw())) return {text.flaw(), text.at(), 0};
      window_.grow();
    }
  }

  // What was found to be whole.
  void deliver(StringPlace place) {
    LenientText text(window_.text(), window_.is_all());
    now_ = &text;
    read_value(text, *builder_, place);
    now_ = nullptr;
    for (std::size_t i = 0; i < text.mends().size(); ++i) {
      const MendCount& mend = text.mends()[i];
      for (std::uint64_t n = 0; n < mend.count; ++n) profile_.left_out.add_at(kMends[i], window_.at() + mend.first);
    }
    window_.drop(text.at());
    comma_ = Comma::kDue;
  }

  static std::uint64_t place_of(const void* self) {
    const auto* const own = static_cast<const Reader*>(self);
    return own->window_.at() + (own->now_ == nullptr ? 0 : own->now_->at());
  }

  const DamagedProfile& profile_;
  TextFile file_;
  TextWindow window_;
  State state_ = State::kStart;
  Comma comma_ = Comma::kNone;
  bool is_document_ = false;             // what begins here is one, though it may look like an event
  bool is_behind_damage_ = false;        // what begins here may be the rest of what was damaged
  std::optional<EventBuilder> builder_;  // of the document
  const LenientText* now_ = nullptr;     // that is delivered
  std::uint64_t begin_ = 0;              // of the document
  std::uint64_t skipped_ = 0;            // bytes of it
  std::uint64_t faults_ = 0;
  std::string problem_;  // of the first of them
};

}  // namespace

void read_damaged_profile(const std::string& path, const DamagedProfile& profile, const ReadProgress& progress) {
  Reader(path, profile, progress).read();
}

}  // namespace hostprobe::analysis
