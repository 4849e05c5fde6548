// options.h: every setting, as options.def lists it, and what a value of it must look like.
//
// Room 4. The probe has its own, tolerant parser: there a bad
// value must not stop somebody's training; here it is refused before anything starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hostprobe::cli {

enum class SettingKind { kText, kNumber, kDecimal, kChoice, kSwitch };

struct Setting {
  SettingKind kind;
  std::string name;  // buffer_mb
  std::string usual;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::string choices;  // "a|b"
  std::string meaning;

  std::string environment() const;  // HOSTPROBE_BUFFER_MB
  std::string flag() const;         // --buffer-mb
  std::string values() const;       // "1..1024", "a|b", "0|1", "text"
};

const std::vector<Setting>& settings();

// "" when `value` is one this setting can have, else what is wrong with it.
std::string complaint(const Setting& setting, const std::string& value);

}  // namespace hostprobe::cli
