// explain.cpp: `hostprobe explain`.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <regex>

#include "answer/cause.h"
#include "cause_pages.h"
#include "cli/commands.h"
#include "cli/nearest.h"
#include "cli/output.h"
#include "cli/screen/terminal.h"
#include "report/columns.h"

namespace hostprobe::cli {
namespace {

constexpr std::size_t kMostWidth = 100;

const char* title_of(const std::string& id) {
  for (std::size_t i = 0; i < analysis::kCauses; ++i)
    if (id == analysis::cause_id(static_cast<analysis::Cause>(i)))
      return analysis::cause_title(static_cast<analysis::Cause>(i));
  return "";
}

std::vector<std::string> ids() {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < kCausePageCount; ++i) all.emplace_back(kCausePages[i].id);
  return all;
}

std::string list_of_causes() {
  std::string text;
  for (const std::string& id : ids()) text += fmt::format("{:<18} {}\n", id, title_of(id));
  return text;
}

// A line of Markdown as a person reads it on a terminal: links are their words.
std::string plain(const std::string& text) {
  static const std::regex kLink(R"(\[([^\]]*)\]\([^)]*\))"), kMark(R"(\*\*|`)");
  return std::regex_replace(std::regex_replace(text, kLink, "$1"), kMark, "");
}

// Paragraphs are set anew, as wide as the terminal; tables, lists and examples stay as they are.
std::string page_text(const CausePage& page) {
  const std::size_t width = std::min(text_width(), kMostWidth);
  std::string out = fmt::format("{} · {}\n", page.id, title_of(page.id)), paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += analysis::wrapped(plain(paragraph), "", "", width);
    paragraph.clear();
  };
  bool is_example = false;
  const std::string text = page.text;
  for (std::size_t at = text.find('\n') + 1; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("```")) is_example = !is_example;
    if (line.starts_with("## ") && !is_example) {
      end_paragraph();
      out += line.substr(3) + "\n";
      continue;
    }
    const bool stays =
        is_example || line.empty() || line.starts_with("|") || line.starts_with("- ") || line.starts_with("```");
    if (stays) end_paragraph();
    if (stays && !line.starts_with("```")) out += is_example ? line + "\n" : plain(line) + "\n";
    if (!stays) paragraph += (paragraph.empty() ? "" : " ") + line;
  }
  end_paragraph();
  return out;
}

int explain(const std::string& cause) {
  if (cause.empty()) {
    write_out(list_of_causes());
    return kDone;
  }
  for (std::size_t i = 0; i < kCausePageCount; ++i)
    if (cause == kCausePages[i].id) {
      write_out(page_text(kCausePages[i]));
      return kDone;
    }
  throw UsageError(
      fmt::format("explain: no cause '{}'{}; there are: {}", cause, suggestion(cause, ids()), fmt::join(ids(), " ")));
}

}  // namespace

Command explain_command() {
  auto cause = std::make_shared<std::string>();
  return {.name = "explain",
          .summary = "Says what a cause means, when it is named, and by what evidence.",
          .options = {{.names = "CAUSE",
                       .target = cause.get(),
                       .meaning = "A cause as documents name it; without one all are listed"}},
          .notes = "Examples:\n  hostprobe explain\n  hostprobe explain dataloader_wait",
          .run = [cause](const Words&) { return explain(*cause); }};
}

}  // namespace hostprobe::cli
