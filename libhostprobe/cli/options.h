// options.h: every setting, as options.def lists it, and every fix, as fixes.def does.
//
// Room 4.
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

struct FixName {
  const char* name;
  const char* meaning;
};

const std::vector<FixName>& fix_names();

}  // namespace hostprobe::cli
