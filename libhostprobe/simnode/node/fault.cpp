// See fault.h.
#include "fault.h"

#include "say.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string>

namespace simnode {

namespace {

struct KindName {
  const char* name;
  FaultKind kind;
};
constexpr KindName kKinds[] = {
    {"slow_gpu", FaultKind::kSlowGpu},         {"launch_delay", FaultKind::kLaunchDelay},
    {"proxy_delay", FaultKind::kProxyDelay},   {"slow_link", FaultKind::kSlowLink},
    {"link_latency", FaultKind::kLinkLatency}, {"missing_rank", FaultKind::kMissingRank},
    {"load_pause", FaultKind::kLoadPause},     {"alloc_stall", FaultKind::kAllocStall},
};

bool parse_number(const std::string& text, double* value) {
  char* end;
  double number = strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number)) return false;
  *value = number;
  return true;
}

bool is_factor(FaultKind kind) { return kind == FaultKind::kSlowGpu || kind == FaultKind::kSlowLink; }

// "rank=3" and so on. Empty: it was taken; else what is wrong with it.
std::string take_field(const std::string& field, Fault* fault) {
  size_t equals = field.find('=');
  std::string name = field.substr(0, equals);
  double value;
  if (equals == std::string::npos || !parse_number(field.substr(equals + 1), &value))
    return "'" + field + "' is not NAME=NUMBER";
  if (value < 0) return "'" + field + "' is below 0";
  if (name == "rank" && value == std::floor(value) && value <= 1 << 24)
    fault->rank = static_cast<int>(value);
  else if (name == "from_ms")
    fault->from_ms = value;
  else if (name == "to_ms")
    fault->to_ms = value;
  else if (name == "amount")
    fault->amount = value;
  else
    return "'" + field + "' is none of rank=R, from_ms=A, to_ms=B, amount=X";
  return "";
}

std::string parse(const std::string& part, Fault* fault) {
  size_t comma = part.find(',');
  std::string kind = part.substr(0, comma);
  auto known =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const KindName& one) { return kind == one.name; });
  if (known == std::end(kKinds)) {
    std::string names;
    for (const KindName& one : kKinds) names += std::string(names.empty() ? "" : ", ") + one.name;
    return "there is no kind '" + kind + "'; the kinds are " + names;
  }
  fault->kind = known->kind;
  fault->amount = is_factor(fault->kind) ? 1 : 0;
  while (comma != std::string::npos) {
    size_t next = part.find(',', comma + 1);
    std::string wrong = take_field(part.substr(comma + 1, next == std::string::npos ? next : next - comma - 1), fault);
    if (!wrong.empty()) return wrong;
    comma = next;
  }
  if (is_factor(fault->kind) && fault->amount <= 0) return "its amount must be above 0";
  return "";
}

std::string without_blanks(const std::string& text) {
  size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

}  // namespace

Faults::Faults(bool report) {
  const char* text = getenv("SIMNODE_FAULT");
  std::string rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    size_t end = rest.find(';');
    std::string part = without_blanks(rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
    if (part.empty()) continue;
    Fault fault;
    std::string wrong = parse(part, &fault);
    if (wrong.empty())
      list_.push_back(fault);
    else if (report)
      say("SIMNODE_FAULT: %s; '%s' is ignored. Give such as 'slow_gpu,rank=1,amount=2'.", wrong.c_str(), part.c_str());
  }
}

bool Faults::has(FaultKind kind, int rank) const {
  return std::any_of(list_.begin(), list_.end(),
                     [=](const Fault& fault) { return fault.kind == kind && (fault.rank < 0 || fault.rank == rank); });
}

template <class Act>
void Faults::each_acting(FaultKind kind, int rank, int64_t start_ns, int64_t at_ns, Act act) const {
  if (list_.empty() || start_ns < 0) return;
  for (const Fault& fault : list_) {
    if (fault.kind != kind || (fault.rank >= 0 && fault.rank != rank)) continue;
    int64_t end_ns = fault.to_ms < 0 ? INT64_MAX : start_ns + std::llround(fault.to_ms * 1e6);
    if (at_ns >= start_ns + std::llround(fault.from_ms * 1e6) && at_ns < end_ns) act(fault, end_ns);
  }
}

double Faults::amount(FaultKind kind, int rank, int64_t start_ns, int64_t at_ns) const {
  double sum = 0;
  each_acting(kind, rank, start_ns, at_ns, [&](const Fault& fault, int64_t) { sum += fault.amount; });
  return sum;
}

double Faults::factor(FaultKind kind, int rank, int64_t start_ns, int64_t at_ns) const {
  double product = 1;
  each_acting(kind, rank, start_ns, at_ns, [&](const Fault& fault, int64_t) { product *= fault.amount; });
  return product;
}

int64_t Faults::end_ns(FaultKind kind, int rank, int64_t start_ns, int64_t at_ns) const {
  int64_t last = -1;
  each_acting(kind, rank, start_ns, at_ns, [&](const Fault&, int64_t end_ns) { last = std::max(last, end_ns); });
  return last;
}

int job_rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* text = getenv(name);
    double value;
    if (text != nullptr && parse_number(text, &value) && value >= 0 && value <= 1 << 24) return static_cast<int>(value);
  }
  return -1;
}

}  // namespace simnode
