// options.cpp: see options.h; and `hostprobe options`.
#include "options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>

#include "commands.h"
#include "output.h"

namespace hostprobe::cli {
namespace {

bool is_choice(const std::string& choices, const std::string& value) {
  std::size_t at = 0;
  while (at <= choices.size()) {
    const std::size_t end = std::min(choices.find('|', at), choices.size());
    if (choices.compare(at, end - at, value) == 0) return true;
    at = end + 1;
  }
  return false;
}

std::string number_complaint(const Setting& setting, const std::string& value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  // Digits alone: the probe takes no sign, not even that of -0.
  const bool digits = value.find_first_not_of("0123456789") == std::string::npos && end == value.data() + value.size();
  if (error == std::errc() && digits && number >= setting.least && number <= setting.most) return {};
  return fmt::format("{} takes a whole number from {} to {}, not '{}'", setting.flag(), setting.least, setting.most,
                     value);
}

// As the probe takes it: digits, and up to three more behind a point.
std::string decimal_complaint(const Setting& setting, const std::string& value) {
  const std::size_t point = std::min(value.find('.'), value.size());
  const std::string whole = value.substr(0, point), rest = value.substr(std::min(point + 1, value.size()));
  const auto digits = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  const bool formed =
      digits(whole) && whole.size() < 12 && (point == value.size() || (digits(rest) && rest.size() <= 3));
  if (formed) {
    const double number = std::stod(value);
    if (number >= static_cast<double>(setting.least) && number <= static_cast<double>(setting.most)) return {};
  }
  return fmt::format("{} takes a number from {} to {} with up to three digits behind the point, not '{}'",
                     setting.flag(), setting.least, setting.most, value);
}

// Names and values must line up with docs/options.md, which a test compares with this.
std::string as_markdown() {
  std::string text = "| environment | `hostprobe run` | default | values | meaning |\n|---|---|---|---|---|\n";
  for (const Setting& setting : settings()) {
    std::string values = setting.values();
    for (std::size_t at = 0; (at = values.find('|', at)) != std::string::npos; at += 2) values.replace(at, 1, "\\|");
    text += fmt::format("| `{}` | `{}` | `{}` | {} | {} |\n", setting.environment(), setting.flag(), setting.usual,
                        values, setting.meaning);
  }
  return text;
}

std::string as_text() {
  std::string text;
  for (const Setting& setting : settings()) {
    text += fmt::format("{:<28} {:<22} default {} ({})\n    {}\n", setting.environment(), setting.flag(), setting.usual,
                        setting.values(), setting.meaning);
  }
  return text;
}

}  // namespace

std::string Setting::environment() const {
  std::string text = "HOSTPROBE_" + name;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string Setting::flag() const {
  std::string text = "--" + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string Setting::values() const {
  switch (kind) {
    case SettingKind::kText:
      return "text";
    case SettingKind::kNumber:
    case SettingKind::kDecimal:
      return fmt::format("{}..{}", least, most);
    case SettingKind::kChoice:
      return choices;
    case SettingKind::kSwitch:
      return "0|1";
  }
  return {};
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> kSettings = {
#define HP_TEXT(name, usual, meaning) {SettingKind::kText, #name, usual, 0, 0, "", meaning},
#define HP_NUMBER(name, usual, least, most, meaning) {SettingKind::kNumber, #name, #usual, least, most, "", meaning},
#define HP_DECIMAL(name, usual, least, most, meaning) {SettingKind::kDecimal, #name, #usual, least, most, "", meaning},
#define HP_CHOICE(name, usual, choices, meaning) {SettingKind::kChoice, #name, usual, 0, 0, choices, meaning},
#define HP_SWITCH(name, usual, meaning) {SettingKind::kSwitch, #name, #usual, 0, 1, "", meaning},
#include "hostprobe/options.def"
#undef HP_TEXT
#undef HP_NUMBER
#undef HP_DECIMAL
#undef HP_CHOICE
#undef HP_SWITCH
  };
  return kSettings;
}

std::string complaint(const Setting& setting, const std::string& value) {
  switch (setting.kind) {
    case SettingKind::kText:
      return {};
    case SettingKind::kNumber:
      return number_complaint(setting, value);
    case SettingKind::kDecimal:
      return decimal_complaint(setting, value);
    case SettingKind::kSwitch:
      return value == "0" || value == "1" ? "" : fmt::format("{} takes 0 or 1, not '{}'", setting.flag(), value);
    case SettingKind::kChoice:
      if (is_choice(setting.choices, value)) return {};
      return fmt::format("{} takes one of {}, not '{}'", setting.flag(), setting.choices, value);
  }
  return {};
}

void add_options(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("options", "Prints every setting with its default and its meaning.");
  auto markdown = std::make_shared<bool>(false);
  command->add_flag("--markdown", *markdown, "As the table of docs/options.md");
  command->footer(
      "Each setting is an environment variable and a flag of `hostprobe run`.\nExample:\n  hostprobe options");
  command->callback([markdown, &context] {
    write_out(*markdown ? as_markdown() : as_text());
    context.status = kDone;
  });
}

}  // namespace hostprobe::cli
