// options_fuzz.cpp: any environment block goes through the parser of the settings, as before main, and through the complaints
// about it; and any value through the check that `hostprobe run --flag VALUE` makes.
//
// The input is the block: entries end in NUL. Every other time each entry is also taken as the value of some setting, since
// few random bytes happen to spell a setting's name. Afterwards every field holds what its line of options.def allows; and the
// probe takes what the command takes for a number, and as the same one.
#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cli/setting_value.h"
#include "probe/runtime/options.h"
#include "probe/runtime/say.h"

// In the place of say.cpp: as long a line, however many.
void hostprobe::probe::say(const char* format, ...) {
  char line[768];
  va_list list;
  va_start(list, format);
  std::vsnprintf(line, sizeof line, format, list);
  va_end(list);
}

namespace {

using namespace hostprobe;

void must(bool holds) {
  if (!holds) std::abort();
}

template <std::size_t room>
bool is_text(const char (&text)[room]) {
  return text[0] != 0 && memchr(text, 0, room) != nullptr;
}

void check_fields() {
  const probe::Options& o = probe::g_options;
#define HP_TEXT(name, fallback, meaning) must(is_text(o.name));
#define HP_NUMBER(name, fallback, least, most, meaning) must(o.name + 1 > least##ull && o.name <= most##ull);
#define HP_DECIMAL(name, fallback, least, most, meaning) \
  must(o.name + 1 > least##ull * 1000 && o.name <= most##ull * 1000);
#define HP_CHOICE(name, fallback, words, meaning) must(o.name < sizeof words / 2);
#define HP_SWITCH(name, fallback, meaning) must(o.name == 0 || o.name == 1);
#include "hostprobe/options.def"
#undef HP_TEXT
#undef HP_NUMBER
#undef HP_DECIMAL
#undef HP_CHOICE
#undef HP_SWITCH
}

std::vector<std::string> entries_of(const std::string& bytes) {
  std::vector<std::string> entries;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
    entries.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return entries;
}

void parse(std::vector<std::string> entries) {
  std::vector<char*> block;
  for (std::string& entry : entries) block.push_back(entry.data());
  block.push_back(nullptr);
  probe::read_options(block.data());
  check_fields();
  probe::report_bad_options(block.data());
}

// A number that the command takes, the probe must take too.
void compare_parsers(const cli::Setting& setting, const std::string& value) {
  const bool number = setting.kind == cli::SettingKind::kNumber || setting.kind == cli::SettingKind::kDecimal ||
                      setting.kind == cli::SettingKind::kSwitch;
  if (!number || !cli::complaint(setting, value, setting.flag()).empty()) return;
  std::string entry = setting.environment() + "=" + value;
  char* block[] = {entry.data(), nullptr};
  probe::read_options(block);
  check_fields();
#define HP_TEXT(name, fallback, meaning)
#define HP_NUMBER(name_, fallback, least, most, meaning) \
  if (setting.name == #name_) must(probe::g_options.name_ == std::strtoull(value.c_str(), nullptr, 10));
#define HP_DECIMAL(name_, fallback, least, most, meaning) \
  if (setting.name == #name_)                             \
    must(probe::g_options.name_ == static_cast<std::uint64_t>(std::strtod(value.c_str(), nullptr) * 1000 + 0.5));
#define HP_CHOICE(name, fallback, words, meaning)
#define HP_SWITCH(name_, fallback, meaning) \
  if (setting.name == #name_) must(probe::g_options.name_ == (value == "1"));
#include "hostprobe/options.def"
#undef HP_TEXT
#undef HP_NUMBER
#undef HP_DECIMAL
#undef HP_CHOICE
#undef HP_SWITCH
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> entries = entries_of(std::string(reinterpret_cast<const char*>(data), size));
  parse(entries);
  if (entries.size() > 64) return 0;
  std::vector<std::string> named;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const cli::Setting& setting = cli::settings()[i % cli::settings().size()];
    named.push_back(setting.environment() + "=" + entries[i]);
    compare_parsers(setting, entries[i]);
  }
  parse(named);
  return 0;
}
