// options.cpp: environment → Options, from the one list in options.def. No allocation: it runs before main.
#include "options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "at_start.h"
#include "say.h"

namespace hostprobe::probe {

HP_START_DATA constinit Options g_options{};

namespace {

constexpr std::size_t kNameBytes = 64;
constexpr char kPrefix[] = "HOSTPROBE_";
constexpr std::size_t kPrefixLength = sizeof kPrefix - 1;

// Not settings of the probe: set by `hostprobe run`, and read by setup.sh.
constexpr const char* kInternalNames[] = {"HOSTPROBE_LAUNCHED", "HOSTPROBE_CACHE"};

struct Setting {
  const char* name;
  const char* fallback;
  const char* words;  // of a choice; nullptr otherwise
  std::uint64_t least, most;
  bool is_number;
  void* field;
};

#define HP_STRING2(x) #x
#define HP_STRING(x) HP_STRING2(x)
const Setting kSettings[] = {
#define HP_TEXT(name, fallback, meaning) {#name, fallback, nullptr, 0, 0, false, g_options.name},
#define HP_NUMBER(name, fallback, least, most, meaning) \
  {#name, HP_STRING(fallback), nullptr, least, most, true, &g_options.name},
#define HP_CHOICE(name, fallback, words, meaning) {#name, fallback, words, 0, 0, false, &g_options.name},
#define HP_SWITCH(name, fallback, meaning) {#name, HP_STRING(fallback), "0|1", 0, 0, false, &g_options.name},
#include "hostprobe/options.def"
#undef HP_TEXT
#undef HP_NUMBER
#undef HP_CHOICE
#undef HP_SWITCH
};

HP_START_CODE void environment_name(const char* name, char (&out)[kNameBytes]) {
  std::size_t used = kPrefixLength;
  memcpy(out, kPrefix, kPrefixLength);
  for (const char* c = name; *c != 0 && used < kNameBytes - 1; ++c)
    out[used++] = *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
  out[used] = 0;
}

HP_START_CODE bool parse_number(const char* text, std::uint64_t least, std::uint64_t most, std::uint64_t& out) {
  std::uint64_t value = 0;
  if (*text == 0) return false;
  for (const char* c = text; *c != 0; ++c) {
    if (*c < '0' || *c > '9' || value > (UINT64_MAX - 9) / 10) return false;
    value = value * 10 + static_cast<std::uint64_t>(*c - '0');
  }
  if (value < least || value > most) return false;
  out = value;
  return true;
}

// Position of `word` in "a|b|c", or -1.
HP_START_CODE int word_position(const char* words, const char* word) {
  std::size_t length = strlen(word);
  int position = 0;
  for (const char* w = words;; ++position) {
    const char* end = strchrnul(w, '|');
    if (static_cast<std::size_t>(end - w) == length && memcmp(w, word, length) == 0) return position;
    if (*end == 0) return -1;
    w = end + 1;
  }
}

HP_START_CODE bool store(const Setting& s, const char* text) {
  if (s.is_number) return parse_number(text, s.least, s.most, *static_cast<std::uint64_t*>(s.field));
  if (s.words == nullptr) {
    if (*text == 0 || strlen(text) >= kTextBytes) return false;
    strcpy(static_cast<char*>(s.field), text);
    return true;
  }
  int position = word_position(s.words, text);
  if (position < 0) return false;
  if (strcmp(s.words, "0|1") == 0)
    *static_cast<bool*>(s.field) = position == 1;
  else
    *static_cast<std::uint64_t*>(s.field) = static_cast<std::uint64_t>(position);
  return true;
}

// A relative run folder would wander with chdir().
HP_START_CODE void make_out_absolute() {
  if (g_options.out[0] == '/') return;
  char whole[kTextBytes];
  if (getcwd(whole, sizeof whole) == nullptr) return;
  std::size_t used = strlen(whole), more = strlen(g_options.out);
  if (used + 1 + more >= kTextBytes) return;
  whole[used] = '/';
  memcpy(whole + used + 1, g_options.out, more + 1);
  memcpy(g_options.out, whole, kTextBytes);
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

// Edit distance of two short names; one row of the usual table.
unsigned distance(const char* a, std::size_t na, const char* b) {
  std::size_t nb = strlen(b);
  unsigned row[kNameBytes + 1];
  for (unsigned j = 0; j <= nb; ++j) row[j] = j;
  for (std::size_t i = 1; i <= na; ++i) {
    unsigned corner = row[0];
    row[0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= nb; ++j) {
      unsigned above = row[j];
      unsigned change = corner + (a[i - 1] != b[j - 1] ? 1u : 0u);
      unsigned best = above + 1 < row[j - 1] + 1 ? above + 1 : row[j - 1] + 1;
      row[j] = change < best ? change : best;
      corner = above;
    }
  }
  return row[nb];
}

void report_unknown(const char* entry, std::size_t name_length) {
  char best[kNameBytes] = "", name[kNameBytes];
  unsigned least = UINT_MAX;
  for (const Setting& s : kSettings) {
    environment_name(s.name, name);
    unsigned d = distance(entry, name_length < kNameBytes ? name_length : kNameBytes, name);
    if (d < least) {
      least = d;
      memcpy(best, name, sizeof best);
    }
  }
  say("%.*s is not a setting and is ignored; the nearest one is %s (`hostprobe options` lists all)",
      static_cast<int>(name_length < 100 ? name_length : 100), entry, best);
}

}  // namespace

HP_START_CODE void read_options(char** environment) {
  char name[kNameBytes];
  for (const Setting& s : kSettings) {
    store(s, s.fallback);
    environment_name(s.name, name);
    std::size_t length = strlen(name);
    for (char** e = environment; e != nullptr && *e != nullptr; ++e)
      if (**e == *name && strncmp(*e, name, length) == 0 && (*e)[length] == '=') {
        store(s, *e + length + 1);
        break;
      }
  }
  make_out_absolute();
}

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
    Setting probe = *s;
    probe.field = &scratch;
    const char* value = (*e)[length] == '=' ? *e + length + 1 : *e + length;
    if (!store(probe, value))
      say("%.*s=%.60s cannot be used (%s); the default %s is used", static_cast<int>(length), *e, value,
          s->is_number ? "not a whole number in range" : (s->words != nullptr ? s->words : "empty or too long"),
          s->fallback);
  }
}

const char* mode_name() { return "trace"; }

}  // namespace hostprobe::probe
