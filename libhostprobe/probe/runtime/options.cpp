// options.cpp: environment → Options, from the one list in options.def. No allocation: it runs before main.
#include "probe/runtime/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/runtime/at_start.h"
#include "probe/runtime/say.h"
#include "settings/edit_distance.h"
#include "settings/profile_rule.h"

namespace hostprobe::probe {

HP_START_DATA constinit Options g_options{};
HP_START_DATA static bool g_out_is_given = false;

namespace {

constexpr std::size_t kNameBytes = 64;
constexpr char kPrefix[] = "HOSTPROBE_";
constexpr std::size_t kPrefixLength = sizeof kPrefix - 1;

// Not settings of the probe: set by `hostprobe run`, and read by setup.sh.
constexpr const char* kInternalNames[] = {"HOSTPROBE_LAUNCHED", "HOSTPROBE_CACHE"};

enum class Kind : std::uint8_t { kText, kNumber, kDecimal, kChoice, kSwitch };

// Without pointers: each start would relocate them.
struct Setting {
  char name[24];
  char fallback[16];
  char words[24];             // of a choice
  std::uint64_t number;       // the fallback of what is not a text
  std::uint64_t least, most;  // of a text: `least` is the room for it
  std::uint32_t offset;       // in Options
  Kind kind;
};

#define HP_STRING2(x) #x
#define HP_STRING(x) HP_STRING2(x)
#define HP_PLACE(name) offsetof(Options, name)
constexpr Setting kSettings[] = {
#define HP_TEXT(name, fallback, meaning) {#name, fallback, "", 0, text_bytes(#name), 0, HP_PLACE(name), Kind::kText},
#define HP_NUMBER(name, fallback, least, most, meaning) \
  {#name, HP_STRING(fallback), "", fallback, least, most, HP_PLACE(name), Kind::kNumber},
#define HP_DECIMAL(name, fallback, least, most, meaning) \
  {#name,                                                \
   HP_STRING(fallback),                                  \
   "",                                                   \
   static_cast<std::uint64_t>((fallback)*1000.0 + 0.5),  \
   (least)*1000,                                         \
   (most)*1000,                                          \
   HP_PLACE(name),                                       \
   Kind::kDecimal},
#define HP_CHOICE(name, fallback, words, meaning) \
  {#name, fallback, words, word_position(words, fallback), 0, 0, HP_PLACE(name), Kind::kChoice},
#define HP_SWITCH(name, fallback, meaning) \
  {#name, HP_STRING(fallback), "0|1", fallback, 0, 0, HP_PLACE(name), Kind::kSwitch},
#include "hostprobe/options.def"
#undef HP_TEXT
#undef HP_NUMBER
#undef HP_DECIMAL
#undef HP_CHOICE
#undef HP_SWITCH
};
constexpr std::size_t kSettingCount = sizeof kSettings / sizeof kSettings[0];

void environment_name(const char* name, char (&out)[kNameBytes]) {
  std::size_t used = kPrefixLength;
  copy_string(out, kPrefix);
  for (const char* c = name; *c != 0 && used < kNameBytes - 1; ++c)
    out[used++] = *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
  out[used] = 0;
}

HP_START_CODE void* field_of(const Setting& s) { return reinterpret_cast<char*>(&g_options) + s.offset; }

HP_START_CODE void store_number(const Setting& s, std::uint64_t number, void* field) {
  if (s.kind == Kind::kSwitch)
    *static_cast<bool*>(field) = number == 1;
  else
    *static_cast<std::uint64_t*>(field) = number;
}

HP_START_CODE bool store(const Setting& s, const char* text, void* field) {
  if (s.kind == Kind::kText) {
    ProfileRule rule;
    if (*text == 0 || length_of(text) >= s.least) return false;
    if (s.offset == HP_PLACE(profile) && !parse_profile_rule(text, rule)) return false;
    copy_string(static_cast<char*>(field), text);
    return true;
  }
  std::uint64_t number = 0;
  if (s.kind == Kind::kNumber) {
    if (!parse_number(text, s.least, s.most, number)) return false;
  } else if (s.kind == Kind::kDecimal) {
    if (!parse_decimal(text, s.least, s.most, number)) return false;
  } else {
    int position = word_position(s.words, text);
    if (position < 0) return false;
    number = static_cast<std::uint64_t>(position);
  }
  store_number(s, number, field);
  return true;
}

HP_START_CODE void store_fallback(const Setting& s) {
  if (s.kind == Kind::kText)
    copy_string(static_cast<char*>(field_of(s)), s.fallback);
  else
    store_number(s, s.number, field_of(s));
}

// Whether `name`, up to its '=', is the setting's in capitals.
HP_START_CODE bool is_named(const Setting& s, const char* name) {
  const char* c = s.name;
  for (; *c != 0; ++c, ++name)
    if (*name != (*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c)) return false;
  return *name == '=';
}

// A relative run folder would wander with chdir().
HP_START_CODE void make_out_absolute() {
  if (g_options.out[0] == '/') return;
  char whole[kTextBytes];
  if (system_call(SYS_getcwd, word_of_pointer(whole), sizeof whole) <= 0 || whole[0] != '/') return;
  std::size_t used = length_of(whole), more = length_of(g_options.out);
  if (used + 1 + more >= kTextBytes) return;
  whole[used] = '/';
  copy_string(whole + used + 1, g_options.out);
  copy_string(g_options.out, whole);
}

const Setting* find_setting(const char* entry, std::size_t name_length) {
  char name[kNameBytes];
  for (const Setting& s : kSettings) {
    environment_name(s.name, name);
    if (strlen(name) == name_length && memcmp(name, entry, name_length) == 0) return &s;
  }
  return nullptr;
}

bool is_internal(const char* entry, std::size_t name_length) {
  for (const char* name : kInternalNames)
    if (strlen(name) == name_length && memcmp(name, entry, name_length) == 0) return true;
  return false;
}

void report_unknown(const char* entry, std::size_t name_length) {
  char best[kNameBytes] = "", name[kNameBytes];
  unsigned least = UINT_MAX, row[kNameBytes + 1];
  const std::size_t length = name_length < kNameBytes ? name_length : kNameBytes;
  for (const Setting& s : kSettings) {
    environment_name(s.name, name);
    // The prefix is the same in all of them, so it makes none near.
    const std::size_t own = length - kPrefixLength, other = strlen(name) - kPrefixLength;
    const unsigned letters = edit_distance(entry + kPrefixLength, own, name + kPrefixLength, other, row);
    if (letters >= least || !is_slip(letters, own, other)) continue;
    least = letters;
    memcpy(best, name, sizeof best);
  }
  const bool is_near = best[0] != 0;
  say("%.*s is not a setting and is ignored%s%s (`hostprobe options` lists all)",
      static_cast<int>(name_length < 100 ? name_length : 100), entry, is_near ? "; the nearest one is " : "", best);
}

const char* reason_of(const Setting& s) {
  return s.kind == Kind::kNumber         ? "not a whole number in range"
         : s.kind == Kind::kDecimal      ? "not a number in range with at most three digits behind the point"
         : s.offset == HP_PLACE(profile) ? "not none, nor every=N, slow=RATIO, steps=N with commas between"
         : s.kind == Kind::kText         ? "empty or too long"
                                         : s.words;
}

// All are numbers: a text could be read while it changes.
constexpr char kChangeable[][24] = {"stack_us", "stack_interval_ms", "poll_us",  "wait_us",       "io_us",  "stall_us",
                                    "flight_s", "trigger_s",         "dumps_mb", "slow_step_pct", "hang_s", "budget"};

bool may_change(const Setting& s) {
  for (const auto& name : kChangeable)
    if (same(s.name, name)) return true;
  return false;
}

std::uint64_t scale_of(const Setting& s) { return s.kind == Kind::kDecimal ? 1000 : 1; }

}  // namespace

static const Setting* setting_named(const char* name) {
  for (const Setting& each : kSettings)
    if (same(each.name, name)) return &each;
  return nullptr;
}

bool check_option(const char* name, const char* value, char* why, std::size_t why_bytes) {
  const Setting* s = setting_named(name);
  std::uint64_t scratch = 0;
  if (s == nullptr) {
    snprintf(why, why_bytes, "%.60s is not a setting; `hostprobe ctl PID status` lists those that can be set", name);
  } else if (!may_change(*s)) {
    snprintf(why, why_bytes,
             "%s can only be set at the start of a process; `hostprobe ctl PID status` lists the others", name);
  } else if (!store(*s, value, &scratch)) {
    snprintf(why, why_bytes, "%s=%.60s cannot be used (%s); it takes %llu to %llu and is left as it was", name, value,
             reason_of(*s), static_cast<unsigned long long>(s->least / scale_of(*s)),
             static_cast<unsigned long long>(s->most / scale_of(*s)));
  } else {
    return true;
  }
  return false;
}

bool set_option(const char* name, const char* value, char* why, std::size_t why_bytes) {
  if (!check_option(name, value, why, why_bytes)) return false;
  const Setting* s = setting_named(name);
  return store(*s, value, field_of(*s));
}

bool describe_option(unsigned index, char* out, std::size_t bytes) {
  if (index >= sizeof kChangeable / sizeof kChangeable[0]) return false;
  const Setting* s = kSettings;
  while (!same(s->name, kChangeable[index])) ++s;
  std::uint64_t value = *static_cast<std::uint64_t*>(field_of(*s)), scale = scale_of(*s);
  if (value % scale == 0)
    snprintf(out, bytes, "%s=%llu", s->name, static_cast<unsigned long long>(value / scale));
  else
    snprintf(out, bytes, "%s=%.6g", s->name, static_cast<double>(value) / static_cast<double>(scale));
  return true;
}

// The first one of each name counts, as for getenv().
HP_START_CODE void read_options(char** environment) {
  std::uint64_t seen = 0;
  g_out_is_given = false;
  for (const Setting& s : kSettings) store_fallback(s);
  for (char** e = environment; e != nullptr && *e != nullptr; ++e) {
    const char* name = after(*e, kPrefix);
    for (std::size_t i = 0; name != nullptr && i < kSettingCount; ++i) {
      if (!is_named(kSettings[i], name)) continue;
      std::uint64_t bit = std::uint64_t{1} << i;
      if ((seen & bit) == 0) store(kSettings[i], name + length_of(kSettings[i].name) + 1, field_of(kSettings[i]));
      g_out_is_given = g_out_is_given || field_of(kSettings[i]) == g_options.out;
      seen |= bit;
    }
  }
  make_out_absolute();
}

bool out_is_given() { return g_out_is_given; }

void report_bad_options(char** environment) {
  for (char** e = environment; e != nullptr && *e != nullptr; ++e) {
    if (strncmp(*e, kPrefix, kPrefixLength) != 0) continue;
    std::size_t length = static_cast<std::size_t>(strchrnul(*e, '=') - *e);
    if (is_internal(*e, length)) continue;
    const Setting* s = find_setting(*e, length);
    if (s == nullptr) {
      report_unknown(*e, length);
      continue;
    }
    // Checked against a scratch copy: the field itself has been in use since the start.
    union {
      char text[kTextBytes];
      std::uint64_t number;
      bool flag;
    } scratch;
    const char* value = (*e)[length] == '=' ? *e + length + 1 : *e + length;
    if (!store(*s, value, &scratch))
      say("%.*s=%.60s cannot be used (%s); the default %s is used", static_cast<int>(length), *e, value, reason_of(*s),
          s->fallback);
  }
}

const char* mode_name() {
  return g_options.mode == kMonitor ? "monitor" : g_options.mode == kFlight ? "flight" : "trace";
}

}  // namespace hostprobe::probe
