// markup.h: a page of HTML while it is made.
//
// Room 3. Names come from other people's programs: no text of theirs becomes markup, steers a terminal or turns the direction of
// what stands beside it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace hostprobe::analysis {

// As text or as the value of an attribute.
std::string html_escaped(std::string_view text);

struct Attribute {
  std::string_view name;
  std::string value;
};
using Attributes = std::initializer_list<Attribute>;

class Markup {
 public:
  Markup& open(std::string_view tag, Attributes attributes = {});
  Markup& close();                      // what was opened last
  Markup& text(std::string_view text);  // escaped
  Markup& name(
      std::string_view name);  // another program's: kept apart from the direction of our text, and cut where it is long
  Markup& markup(std::string_view markup);  // ours, as it is
  // A tag with text in it, and one with nothing in it.
  Markup& element(std::string_view tag, std::string_view text, Attributes attributes = {});
  Markup& empty(std::string_view tag, Attributes attributes = {});
  std::string take();  // closes what is open

 private:
  void begin(std::string_view tag, Attributes attributes);

  std::string out_;
  std::vector<std::string> open_;
};

}  // namespace hostprobe::analysis
