// event_check.h: whether one object of the list of events is one event, as far as the text around damage shows.
//
// Room 3. A listener as EventBuilder, which is asked first: where bytes between two events are missing, the begin of one and the end of another look like one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "event_builder.h"
#include "lenient_text.h"

namespace hostprobe::analysis {

enum class EventFault : std::uint8_t {
  kNone,
  kTwice,     // it has a field twice: the begin of one event and the end of another
  kInside,    // an event is an element of a list in it: its own brackets are gone
  kDocument,  // it holds a list of events
};

struct EventFinding {
  EventFault fault = EventFault::kNone;
  bool has_phase = false;
  std::size_t inside_at = 0;  // where the event in it begins
};

class EventCheck {
 public:
  using Finding = EventFinding;
  explicit EventCheck(const LenientText& text) : text_(text) {}
  const EventFinding& finding() const { return finding_; }
  static void end(LenientText&) {}

  bool Null() { return value(false); }
  bool RawNumber(const char*, std::size_t, bool) { return value(false); }
  bool String(const char*, std::size_t length, bool) { return value(length > 0); }
  bool Key(const char* text, std::size_t length, bool) { return key({text, length}); }
  bool StartObject() { return open(true); }
  bool StartArray() { return open(false); }
  bool EndObject(std::size_t) { return close(); }
  bool EndArray(std::size_t) { return close(); }

 private:
  struct Level {
    std::size_t at = 0;
    bool is_object = false;
  };

  bool refuse(EventFault fault) {
    finding_.fault = fault;
    return false;
  }
  bool value(bool is_text) {
    if (depth_ == 1 && is_phase_next_) finding_.has_phase = is_text;
    is_phase_next_ = false;
    return true;
  }
  bool open(bool is_object) {
    is_phase_next_ = false;
    levels_[depth_++] = {text_.at() - 1, is_object};
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }
  bool key(std::string_view name) {
    is_phase_next_ = name == "ph";
    if (depth_ == 1 && name == "traceEvents") return refuse(EventFault::kDocument);
    if (depth_ == 1) return first_time(name);
    if (!is_phase_next_ || levels_[depth_ - 2].is_object) return true;
    finding_.inside_at = levels_[depth_ - 1].at;
    return refuse(EventFault::kInside);
  }
  bool first_time(std::string_view name) {
    const auto field = event_field(name);
    if (!field) return true;
    const std::uint32_t bit = 1u << static_cast<unsigned>(*field);
    if ((seen_ & bit) != 0) return refuse(EventFault::kTwice);
    seen_ |= bit;
    return true;
  }

  const LenientText& text_;
  std::array<Level, kMostDepth + 1> levels_;
  EventFinding finding_;
  std::size_t depth_ = 0;
  std::uint32_t seen_ = 0;
  bool is_phase_next_ = false;
};

}  // namespace hostprobe::analysis
