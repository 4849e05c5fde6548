// quota.cpp: see quota.h.
#include "probe/sources/quota.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/small_file.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kMostGroups = 8;  // own one and those above; a pod's container is the fourth
constexpr std::size_t kFolderBytes = 512;
constexpr std::uint64_t kFindNs = 1000000000;  // a process may be moved

struct Groups {
  char folder[kFolderBytes];           // of the own one
  std::uint32_t lengths[kMostGroups];  // of it and those above, parts of `folder`
  Throttling before[kMostGroups];
  unsigned count;
};
HP_OF_PROCESS Groups g_groups;
HP_OF_PROCESS std::uint64_t g_read_ns = 0, g_next_find_ns = 0;
HP_OF_PROCESS std::uint64_t g_membership = 0;  // a sum of /proc/self/cgroup

bool read_group(unsigned number, const char* file, char* out, std::size_t bytes) {
  char path[kFolderBytes + 24];
  snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(g_groups.lengths[number]), g_groups.folder, file);
  return read_small_file(path, out, bytes);
}

bool read_throttling(unsigned number, Throttling& out) {
  char text[512];
  return read_group(number, "cpu.stat", text, sizeof text) && parse_throttling(text, out);
}

// Line by line, however long the file. `use` says whether it was the one.
template <class Use>
bool any_line(const char* path, Use use) {
  char text[4096];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool found = false;
  std::size_t held = 0;
  for (ssize_t got; !found && (got = read(fd, text + held, sizeof text - 1 - held)) > 0;) {
    held += static_cast<std::size_t>(got);
    text[held] = 0;
    char* line = text;
    for (char* end; !found && (end = strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = 0;
      found = use(line);
    }
    held = strlen(line);
    if (held == sizeof text - 1) held = 0;  // too long a line is left out
    memmove(text, line, held);
  }
  close(fd);
  return found;
}

// The group's own folder and those above it that have figures.
void add_levels(std::uint32_t root_bytes) {
  auto length = static_cast<std::uint32_t>(strlen(g_groups.folder));
  while (length > root_bytes && g_groups.folder[length - 1] == '/') --length;
  while (g_groups.count < kMostGroups) {
    g_groups.lengths[g_groups.count] = length;
    if (read_throttling(g_groups.count, g_groups.before[g_groups.count])) ++g_groups.count;
    if (length <= root_bytes) return;
    while (length > root_bytes && g_groups.folder[length - 1] != '/') --length;
    while (length > root_bytes && g_groups.folder[length - 1] == '/') --length;
  }
}

bool find_in_tree(bool unified) {
  char path[kFolderBytes];
  const bool found = any_line("/proc/self/cgroup", [&](char* line) {
    const char* own = path_in_line(line, unified);
    return own != nullptr && static_cast<std::size_t>(snprintf(path, sizeof path, "%s", own)) < sizeof path;
  });
  std::uint32_t root_bytes = 0;
  if (!found || !any_line("/proc/self/mountinfo", [&](char* line) {
        return folder_in_mount(line, path, unified, g_groups.folder, kFolderBytes, root_bytes);
      }))
    return false;
  add_levels(root_bytes);
  return g_groups.count > 0;
}

// The tree of version 1 first: where there is one for "cpu", version 2's has no say in it.
void find_groups(std::uint64_t now_ns) {
  if (now_ns < g_next_find_ns) return;
  g_next_find_ns = now_ns + kFindNs;
  std::uint64_t membership = 1;
  any_line("/proc/self/cgroup", [&](const char* line) {
    for (; *line != 0; ++line) membership = membership * 1099511628211u + static_cast<unsigned char>(*line);
    return false;
  });
  if (membership == g_membership) return;
  g_membership = membership;
  g_groups.count = 0;
  find_in_tree(false) || find_in_tree(true);
}

// In CPUs; 0: not known, or none any more.
double quota_of(unsigned number) {
  char quota[64], period[64];
  char* next = nullptr;
  if (read_group(number, "cpu.max", quota, sizeof quota)) {
    const double us = strtod(quota, &next);
    return next == quota ? 0 : us / strtod(next, nullptr);
  }
  if (!read_group(number, "cpu.cfs_quota_us", quota, sizeof quota) ||
      !read_group(number, "cpu.cfs_period_us", period, sizeof period))
    return 0;
  const double us = strtod(quota, nullptr);
  return us <= 0 ? 0 : us / strtod(period, nullptr);
}

// The end of a long path says more.
void tell(unsigned number, std::uint64_t since_ms, const Throttling& grown) {
  char text[sizeof EventRow::text];
  const int head = snprintf(text, sizeof text, "%g ", quota_of(number));
  const std::size_t room = sizeof text - 1 - static_cast<std::size_t>(head), length = g_groups.lengths[number];
  const std::size_t cut = length > room ? length - room : 0;
  snprintf(text + head, sizeof text - static_cast<std::size_t>(head), "%.*s", static_cast<int>(length - cut),
           g_groups.folder + cut);
  note_event(kEventThrottled, static_cast<std::uint32_t>(since_ms), grown.periods, grown.ns, text);
  if (g_segment.header != nullptr)
    std::atomic_ref(g_segment.header->throttled_ns).fetch_add(grown.ns, std::memory_order_relaxed);
}

const char* value_after(const char* text, const char* name) {
  const std::size_t length = strlen(name);
  for (const char* at = strstr(text, name); at != nullptr; at = strstr(at + 1, name))
    if ((at == text || at[-1] == '\n') && at[length] == ' ') return at + length + 1;
  return nullptr;
}

// The n-th word of a line, from 0. Its end is at a blank or the line's end.
char* word_of(char* line, unsigned number) {
  while (number > 0 && line != nullptr) {
    line = strchr(line, ' ');
    if (line != nullptr) ++line;
    --number;
  }
  return line;
}

std::size_t word_bytes(const char* word) { return strcspn(word, " \n"); }

// Whether one of the names between commas is it.
bool lists(const char* names, std::size_t bytes, const char* name) {
  const std::size_t length = strlen(name);
  for (const char* end = names + bytes; names < end;) {
    const std::size_t one = strcspn(names, ", \n:");
    if (one == length && strncmp(names, name, length) == 0) return true;
    names += one + 1;
  }
  return false;
}

// Of the line for that controller, or of version 2's for nullptr.
const char* path_for(const char* line, const char* controller) {
  const char* names = strchr(line, ':');
  const char* path = names == nullptr ? nullptr : strchr(names + 1, ':');
  if (path == nullptr) return nullptr;
  const auto bytes = static_cast<std::size_t>(path - ++names);
  return (controller == nullptr ? bytes == 0 : lists(names, bytes, controller)) ? path + 1 : nullptr;
}

}  // namespace

bool parse_throttling(const char* text, Throttling& out) {
  const char* periods = value_after(text, "nr_throttled");
  const char* us = value_after(text, "throttled_usec");
  const char* ns = value_after(text, "throttled_time");
  if (periods == nullptr || (us == nullptr && ns == nullptr)) return false;
  out.periods = strtoull(periods, nullptr, 10);
  out.ns = us != nullptr ? strtoull(us, nullptr, 10) * 1000 : strtoull(ns, nullptr, 10);
  return true;
}

const char* path_in_line(const char* line, bool unified) { return path_for(line, unified ? nullptr : "cpu"); }

bool may_be_in_group_of(const char* controller) {
  bool is_told = false;
  const bool is_below = any_line("/proc/self/cgroup", [&](const char* line) {
    is_told = true;
    const char* path = path_for(line, controller);
    return path != nullptr && strcmp(path, "/") != 0;
  });
  return is_below || !is_told;
}

bool folder_in_mount(char* line, const char* path, bool unified, char* out, std::uint32_t bytes,
                     std::uint32_t& root_bytes) {
  char* root = word_of(line, 3);
  char* point = word_of(line, 4);
  char* rest = point == nullptr ? nullptr : strstr(point, " - ");
  if (rest == nullptr) return false;
  char* type = rest + 3;
  char* options = word_of(type, 2);
  const std::size_t type_bytes = word_bytes(type);
  const char* wanted = unified ? "cgroup2" : "cgroup";
  if (options == nullptr || type_bytes != strlen(wanted) || strncmp(type, wanted, type_bytes) != 0) return false;
  if (!unified && !lists(options, word_bytes(options), "cpu")) return false;
  // What is mounted may be a part of the tree only: a container's.
  const std::size_t root_length = word_bytes(root) == 1 ? 0 : word_bytes(root);
  const bool is_below = strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
  const char* below = is_below ? path + root_length : "";
  if (strncmp(below, "/..", 3) == 0) below = "";  // it stands above what can be seen from here
  root_bytes = static_cast<std::uint32_t>(word_bytes(point));
  return static_cast<std::uint32_t>(snprintf(out, bytes, "%.*s%s", static_cast<int>(root_bytes), point, below)) < bytes;
}

void note_throttling(const Round& round) {
  const std::uint64_t now_ns = round.now_ns;
  find_groups(now_ns);
  const std::uint64_t since_ms = g_read_ns == 0 ? 0 : (now_ns - g_read_ns) / 1000000;
  g_read_ns = now_ns;
  Throttling most{};
  unsigned heaviest = 0;
  for (unsigned i = 0; i < g_groups.count; ++i) {
    Throttling now{};
    if (!read_throttling(i, now)) continue;
    const Throttling grown{now.periods - g_groups.before[i].periods, now.ns - g_groups.before[i].ns};
    const bool is_older = now.ns < g_groups.before[i].ns;  // another group of the same name
    g_groups.before[i] = now;
    if (!is_older && grown.ns > most.ns) most = grown, heaviest = i;
  }
  if (most.ns > 0) tell(heaviest, since_ms, most);
}

}  // namespace hostprobe::probe
