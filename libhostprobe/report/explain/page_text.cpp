// page_text.cpp: see page_text.h.
#include "page_text.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

// "[words](place)" at `at`: the length of it, and its words; 0: it is no link.
std::size_t link_at(std::string_view text, std::size_t at, std::string_view& words) {
  const std::size_t middle = text.find("](", at);
  if (text[at] != '[' || middle == std::string_view::npos) return 0;
  const std::size_t end = text.find(')', middle);
  if (end == std::string_view::npos || text.substr(at, middle - at).find('\n') != std::string_view::npos) return 0;
  words = text.substr(at + 1, middle - at - 1);
  return end + 1 - at;
}

std::string without_marks(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string_view words;
    if (const std::size_t length = link_at(text, at, words); length > 0) {
      plain += without_marks(words);
      at += length - 1;
    } else if (text.substr(at, 2) == "**") {
      ++at;
    } else if (text[at] != '`') {
      plain += text[at];
    }
  }
  return plain;
}

}  // namespace

std::string page_text(std::string_view markdown) {
  std::string text;
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    std::string_view line = markdown.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of('#'), line.size()));
    if (line.size() < end && line.starts_with(' ')) line.remove_prefix(1);
    text += std::string(line) + "\n";
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
  }
  return without_marks(text);
}

std::string first_sentence(std::string_view markdown) {
  const std::size_t begin = std::min(markdown.find("\n\n"), markdown.size());
  std::string text = without_marks(markdown.substr(begin));
  text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::size_t end = text.find(". ");
  return end == std::string::npos ? text.substr(0, text.find_last_not_of(' ') + 1) : text.substr(0, end + 1);
}

}  // namespace hostprobe::analysis
