// event_builder.h: what a parser of JSON finds in a profile, put together to events.
//
// Room 3. It knows where in the document the parser is: the list of events is that of "traceEvents", or the document itself. Its calls
// are those of RapidJSON's handlers, in a header so that the parser takes them in.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/input/left_out.h"
#include "profile_event.h"

namespace hostprobe::analysis {

// The event is its again after the call.
using OnProfileEvent = std::function<void(const ProfileEvent&)>;

// A name that events, or their "args", have a field of; nothing: they have none.
std::optional<ProfileField> event_field(std::string_view name);
std::optional<ProfileField> arg_field(std::string_view name);

// Where in the text a parser is.
struct ParserPlace {
  std::uint64_t (*taken)(const void* source) = nullptr;  // bytes
  const void* source = nullptr;
  std::uint64_t base = 0;  // bytes of the text before the source

  std::uint64_t at() const { return taken == nullptr ? base : base + taken(source); }
};

// The parser calls itself for each list and object, and a file could be nothing but brackets.
inline constexpr int kMostDepth = 256;

class EventBuilder {
 public:
  EventBuilder(const OnProfileEvent& on_event, LeftOut& left_out) : on_event_(on_event), left_out_(left_out) {}

  // Until a parser has read all that is there.
  void read_from(const ParserPlace& place) { place_ = place; }

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
      field_ = event_field(key);
      in_args_ = key == "args";
    } else if (depth_ == events_depth_ + 2 && in_args_) {
      field_ = arg_field(key);
    }
    return true;
  }
  bool StartObject() {
    if (depth_ == 0) root_is_object_ = true;
    if (++depth_ > kMostDepth) return false;
    if (events_depth_ != 0 && depth_ == events_depth_ + 1) {
      event_.clear();
      event_.at = place_.at() - 1;  // its bracket is taken
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
  // The next element that comes is one of the list of events.
  bool is_in_list() const { return events_depth_ != 0 && depth_ == events_depth_; }
  // What comes is a value of the document's object, under that key,
  void enter_object(std::string_view key) {
    depth_ = 1;
    events_depth_ = 0;
    root_is_object_ = true;
    root_key_ = key;
  }
  // or that object itself,
  void leave_object() { depth_ = 0; }
  // or an element of the list of events.
  void enter_list() { events_depth_ = depth_ = 1; }

 private:
  static constexpr std::size_t kMostTextBytes = 1 << 16;  // of one field: a name that is longer is cut

  bool value(std::string_view text) {
    if (events_depth_ == 0) {
      head_value(text);
    } else if (depth_ == events_depth_) {
      left_out_.add_at("elements of the list of events that are no events", place_.at());
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
  ParserPlace place_;
  ProfileHead head_;
  ProfileEvent event_;
  std::optional<ProfileField> field_;
  std::string root_key_, inner_key_;
  int depth_ = 0;
  int events_depth_ = 0;  // of the list of events; 0 = the parser is not inside of it
  bool root_is_object_ = false;
  bool in_args_ = false;
  std::uint64_t events_ = 0;
};

}  // namespace hostprobe::analysis
