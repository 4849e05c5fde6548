// See settings.h.
#include "settings.h"

#include "driver.h"
#include "node/clock.h"
#include "node/say.h"

#include <strings.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

namespace simnode::nccl {

namespace {

bool parse_number(const std::string& text, double* value) {
  char* end;
  double number = strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number)) return false;
  *value = number;
  return true;
}

// The first of the names that is set to a number within the bounds.
void read_number(std::initializer_list<const char*> names, double low, double high, double* value) {
  for (const char* name : names) {
    const char* text = getenv(name);
    if (text == nullptr || *text == '\0') continue;
    double number;
    if (parse_number(text, &number) && number >= low && number <= high) {
      *value = number;
      return;
    }
    say("%s=%s is not a number from %g to %g; it is ignored. Give such a number or unset it.", name, text, low, high);
  }
}

bool read_switch(const char* name, bool otherwise) {
  double value = otherwise ? 1 : 0;
  read_number({name}, 0, 1, &value);
  return value != 0;
}

int read_int(std::initializer_list<const char*> names, int low, int high, int otherwise) {
  double value = otherwise;
  read_number(names, low, high, &value);
  return static_cast<int>(value);
}

// "A" or "A,B". Returns how many were read.
int read_pair(const char* name, double least, double* inside, double* between) {
  const char* text = getenv(name);
  if (text == nullptr || *text == '\0') return 0;
  std::string whole = text;
  size_t comma = whole.find(',');
  double a, b;
  bool good = parse_number(whole.substr(0, comma), &a) && a >= least;
  if (comma != std::string::npos) good = good && parse_number(whole.substr(comma + 1), &b) && b >= least;
  if (!good) {
    say("%s=%s is neither a number nor two (inside a host, between hosts); the default is used. Give such as 100 or "
        "100,25.",
        name, text);
    return 0;
  }
  *inside = a;
  if (comma == std::string::npos) return 1;
  *between = b;
  return 2;
}

void read_links(Settings* all) {
  double a, b;
  int count = read_pair("SIMNODE_LINK_GBPS", 1e-6, &a, &b);
  if (count > 0) all->inside.bytes_per_ns = a, all->between.bytes_per_ns = count == 2 ? b : a / 4;
  count = read_pair("SIMNODE_LINK_US", 0, &a, &b);
  if (count == 0) return;
  all->inside.latency_ns = std::llround(a * 1000);
  all->between.latency_ns = std::llround((count == 2 ? b : a * 4) * 1000);
}

Settings* read_settings() {
  auto* all = new Settings;
  const char* debug = getenv("NCCL_DEBUG");
  all->warn = debug != nullptr &&
              (strcasecmp(debug, "WARN") == 0 || strcasecmp(debug, "INFO") == 0 || strcasecmp(debug, "TRACE") == 0);
  all->name_threads = read_switch("NCCL_SET_THREAD_NAME", false);
  const char* threads = getenv("SIMNODE_NCCL_THREADS");
  all->std_threads = threads != nullptr && strcmp(threads, "std") == 0;
  all->ras = read_switch("NCCL_RAS_ENABLE", true);
  all->ignore_affinity = read_switch("NCCL_IGNORE_CPU_AFFINITY", false);
  all->blocking = read_switch("NCCL_COMM_BLOCKING", true);
  auto whole = [](double value) { return static_cast<size_t>(value) / 1024 * 1024; };
  double bytes = static_cast<double>(all->buffer_bytes);
  read_number({"NCCL_BUFFSIZE"}, 8 << 10, 1 << 30, &bytes);
  all->buffer_bytes = std::max(whole(bytes), size_t{8192});
  bytes = static_cast<double>(all->p2p_chunk_bytes);
  read_number({"NCCL_P2P_NET_CHUNKSIZE"}, 1 << 10, 64 << 20, &bytes);
  all->p2p_chunk_bytes = std::max(whole(bytes), size_t{1024});
  all->version = read_int({"SIMNODE_NCCL_VERSION"}, 2000, 99999, 0);
  all->hosts = read_int({"SIMNODE_HOSTS"}, 1, 1024, 1);
  read_links(all);
  double launch_us = 2;
  read_number({"SIMNODE_LAUNCH_US"}, 0, 3600e6, &launch_us);
  all->enqueue_ns = std::llround(launch_us * 1500);
  all->rank = job_rank();
  all->ranks = read_int({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, 1, 1 << 24, -1);
  return all;
}

int64_t start_ns() { return driver() == nullptr ? -1 : driver()->start_ns(); }

}  // namespace

const Settings& settings() {
  static const Settings* const all = read_settings();
  return *all;
}

double fault_amount(FaultKind kind, int rank, int64_t at_ns) {
  return settings().faults.amount(kind, rank, start_ns(), at_ns);
}
double fault_factor(FaultKind kind, int rank, int64_t at_ns) {
  return settings().faults.factor(kind, rank, start_ns(), at_ns);
}
int64_t fault_end_ns(FaultKind kind, int rank, int64_t at_ns) {
  return settings().faults.end_ns(kind, rank, start_ns(), at_ns);
}

}  // namespace simnode::nccl
