// options.cpp: see options.h; and `hostprobe options`.
#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "output.h"

namespace hostprobe::cli {
namespace {

// "gc = …; pin = …", for the meaning of the setting that takes them.
std::string with_fixes(std::string meaning) {
  constexpr char kMark[] = "{fixes}";
  const std::size_t at = meaning.find(kMark);
  if (at == std::string::npos) return meaning;
  std::vector<std::string> rows;
  for (const FixName& fix : fix_names()) rows.push_back(fmt::format("{} = {}", fix.name, fix.meaning));
  return meaning.replace(at, sizeof kMark - 1, fmt::format("{}", fmt::join(rows, "; ")));
}

// Names and values must line up with docs/reference/options.md, which a test compares with this.
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
#define HP_TEXT(name, usual, meaning) {SettingKind::kText, #name, usual, 0, 0, "", with_fixes(meaning)},
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

const std::vector<FixName>& fix_names() {
  static const std::vector<FixName> kFixes = {
#define HP_FIX(Name, name, meaning, ...) {#name, meaning},
#include "hostprobe/fixes.def"
  };
  return kFixes;
}

Command options_command() {
  auto markdown = std::make_shared<bool>(false);
  const auto run = [markdown](const Words&) {
    write_out(*markdown ? as_markdown() : as_text());
    return kDone;
  };
  return {
      .name = "options",
      .summary = "Prints every setting with its default and its meaning.",
      .options = {{.names = "--markdown",
                   .target = markdown.get(),
                   .meaning = "As the table of docs/reference/options.md"}},
      .notes = "Each setting is an environment variable and a flag of `hostprobe run`.\nExample:\n  hostprobe options",
      .run = run};
}

}  // namespace hostprobe::cli
