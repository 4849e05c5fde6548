// page_file.cpp: see page_file.h.
#include "page_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "cli/output.h"
#include "report/html/page_frame.h"
#include "report/html/redaction.h"
#include "report/text_output.h"

namespace hostprobe::cli {
namespace {

// Whoever asks again wants the new page. Nothing else is ever written over, but what is empty: mktemp makes that.
bool is_page_or_empty(const std::string& path) {
  std::string begin(std::string_view(analysis::kPageBegin).size(), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file.gcount() == 0 || begin == analysis::kPageBegin;
}

}  // namespace

void add_page_options(PageArguments& arguments, Command& command) {
  const std::vector<Option> options = {
      {.names = "--html",
       .target = &arguments.file,
       .meaning = "One page in FILE, for a browser or a mail; it needs no network",
       .value_name = "FILE"},
      {.names = "--redact",
       .target = &arguments.redact,
       .meaning = "That page without paths, hosts, commands and names: each has a number instead"},
      {.names = "--force", .target = &arguments.force, .meaning = "Write that page over a file that is none"}};
  command.options.insert(command.options.end(), options.begin(), options.end());
}

void require_page_file(const PageArguments& arguments) {
  if (!arguments.is_wanted()) {
    if (arguments.redact || arguments.force)
      throw UsageError(fmt::format("{} is about a page: add --html FILE", arguments.redact ? "--redact" : "--force"));
    return;
  }
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(arguments.file, error);
  if (std::filesystem::is_directory(status))
    throw std::runtime_error(fmt::format("{} is a folder: name a file in it", arguments.file));
  // A pipe or a device takes what it is given.
  if (!std::filesystem::is_regular_file(status) || arguments.force || is_page_or_empty(arguments.file)) return;
  throw std::runtime_error(
      fmt::format("{} is there and is no page of hostprobe: name another file, or add --force", arguments.file));
}

void write_page(const PageArguments& arguments, const analysis::JsonValue& document,
                std::string (*page_of)(const analysis::JsonValue&)) {
  const std::string page = page_of(arguments.redact ? analysis::redacted(document) : document);
  analysis::TextOutput output(arguments.file);
  output.write(page);
  output.finish();
  say(fmt::format("a page of {} KiB is in {}", (page.size() + 1023) / 1024, arguments.file));
}

}  // namespace hostprobe::cli
