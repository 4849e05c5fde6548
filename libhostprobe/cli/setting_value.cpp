// setting_value.cpp: see setting_value.h.
#include "setting_value.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>

#include "nearest.h"
#include "settings/fix_list.h"
#include "settings/profile_rule.h"
#include "settings/setting_value.h"
#include "settings/signal_name.h"

namespace hostprobe::cli {
namespace {

std::vector<std::string> split(const std::string& choices) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= choices.size();) {
    const std::size_t end = std::min(choices.find('|', at), choices.size());
    words.push_back(choices.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string number_complaint(const Setting& setting, const std::string& value, const std::string& name) {
  std::uint64_t number = 0;
  const auto least = static_cast<std::uint64_t>(setting.least), most = static_cast<std::uint64_t>(setting.most);
  if (setting.kind == SettingKind::kNumber) {
    if (parse_number(value.c_str(), least, most, number)) return {};
    return fmt::format("{} takes a whole number from {} to {}, not '{}'", name, least, most, value);
  }
  if (parse_decimal(value.c_str(), least * 1000, most * 1000, number)) return {};
  return fmt::format("{} takes a number from {} to {} with up to three digits behind the point, not '{}'", name, least,
                     most, value);
}

// The names of fixes in `list`, and none and auto unless it stands behind "auto:".
std::string fix_complaint(const std::string& list, const std::string& name, bool of_auto = false) {
  std::vector<std::string> known;
  for (const FixName& fix : fix_names()) known.emplace_back(fix.name);
  if (!of_auto) known.insert(known.end(), {"auto", "none"});
  const char* at = list.c_str();
  for (ListEntry entry; next_fix(at, entry, of_auto);) {
    const std::string word(entry.begin, entry.bytes);
    if (!of_auto && word.starts_with("auto:")) return fix_complaint(word.substr(5), name, true);
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    return fmt::format("{} takes some of {}, not '{}'{}", name, fmt::join(known, ","), word, suggestion(word, known));
  }
  return {};
}

std::string signal_complaint(const std::string& value, const std::string& name) {
  const KnownSignals signals{sigabbrev_np, SIGRTMIN, SIGRTMAX};
  if (trigger_signal_number(value.c_str(), signals) >= 0) return {};
  std::string word = value.substr(value.starts_with("SIG") ? 3 : 0);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
  std::vector<std::string> known;
  for (int i = 1; i < SIGRTMIN; ++i)
    if (may_trigger(i, signals)) known.emplace_back(sigabbrev_np(i));
  return fmt::format("{} takes none, or a signal that a program goes on after, such as USR2, not '{}'{}", name, value,
                     suggestion(word, known));
}

std::string profile_complaint(const std::string& value, const std::string& name) {
  if (ProfileRule rule; parse_profile_rule(value.c_str(), rule)) return {};
  return fmt::format(
      "{} takes none, or every=N or slow=RATIO (from 1.05) with steps=N (1 to {}; fewer than every by 2), not '{}'",
      name, kMostProfiledSteps, value);
}

std::string text_complaint(const Setting& setting, const std::string& value, const std::string& name) {
  const std::size_t most = text_bytes(setting.name.c_str()) - 1;
  if (value.empty()) return fmt::format("{} is empty; leave it out to have the default", name);
  if (value.size() > most) return fmt::format("{} takes at most {} bytes, not {}", name, most, value.size());
  if (setting.name == "fix") return fix_complaint(value, name);
  if (setting.name == "profile") return profile_complaint(value, name);
  if (setting.name == "trigger_signal") return signal_complaint(value, name);
  return {};
}

}  // namespace

std::string complaint(const Setting& setting, const std::string& value, const std::string& name) {
  switch (setting.kind) {
    case SettingKind::kText:
      return text_complaint(setting, value, name);
    case SettingKind::kNumber:
    case SettingKind::kDecimal:
      return number_complaint(setting, value, name);
    case SettingKind::kSwitch:
      return word_position("0|1", value.c_str()) >= 0 ? "" : fmt::format("{} takes 0 or 1, not '{}'", name, value);
    case SettingKind::kChoice:
      if (word_position(setting.choices.c_str(), value.c_str()) >= 0) return {};
      return fmt::format("{} takes one of {}, not '{}'{}", name, setting.choices, value,
                         suggestion(value, split(setting.choices)));
  }
  return {};
}

}  // namespace hostprobe::cli
