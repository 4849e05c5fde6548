// nvtx.cpp: see nvtx.h. A range that begins before recording does, or lies deeper than 16 others of its thread, leaves no
// record. Domains of NVIDIA's own libraries below a framework (cuBLAS, cuDNN, CCCL) are passed over: their ranges are about as
// frequent as launches.
#include "probe/hooks/nvtx.h"

#include <string.h>

#include <atomic>
#include <bit>
#include <initializer_list>

#include "probe/hooks/nvtx_abi.h"
#include "probe/record/hook.h"
#include "probe/record/strings.h"
#include "probe/runtime/of_process.h"

HP_RANGE_ROW(kRowRange, kRange, nvtx_range, "name:str", "domain:str", "", "", "")
HP_RANGE_ROW(kRowMark, kMark, nvtx_mark, "name:str", "value:real", "", "domain:str", "")

namespace hostprobe::probe {
namespace {

// Names that libraries register once and use for good, domains among them. A handle is the address of its entry.
struct Name {
  char text[63];
  bool is_passed_over;  // a domain
};
constexpr unsigned kNames = 256;
HP_KEPT_BY_CHILDREN constinit Name g_names[kNames]{};
constexpr Name g_no_more{"(a later name)", false};
HP_KEPT_BY_CHILDREN std::atomic<unsigned> g_name_count{0};

const Name* keep_name(const char* text) {
  const unsigned at = g_name_count.fetch_add(1, std::memory_order_relaxed);
  if (at >= kNames - 1) {
    g_name_count.store(kNames, std::memory_order_relaxed);
    return &g_no_more;
  }
  strncpy(g_names[at].text, text == nullptr ? "" : text, sizeof g_names[at].text - 1);
  return &g_names[at];
}

std::uint32_t id_of(const char* text) { return text == nullptr ? 0 : string_id(text, strlen(text)); }
std::uint32_t id_of(const Name* name) { return name == nullptr ? 0 : id_of(name->text); }

std::uint32_t id_of(const nvtx::Attributes* event) {
  if (event == nullptr || event->message == nullptr) return 0;
  if (event->message_type == nvtx::kAscii) return id_of(static_cast<const char*>(event->message));
  return event->message_type == nvtx::kRegistered ? id_of(static_cast<const Name*>(event->message)) : 0;
}

double payload_of(const nvtx::Attributes* event) {
  if (event->payload_type == nvtx::kPayloadDouble) return event->payload.real;
  if (event->payload_type == nvtx::kPayloadUnsigned) return static_cast<double>(event->payload.unsigned_number);
  return event->payload_type == nvtx::kPayloadSigned ? static_cast<double>(event->payload.number) : 0;
}

bool is_heard(const Name* domain) {
  return (domain == nullptr || !domain->is_passed_over) && recording_or_begun(Moment::kPlain);
}

struct Range {
  const Name* domain;
  std::uint64_t begun;  // 0: nothing was recorded then
  std::uint32_t name;
};

void record(const Range& range) {
  if (range.begun == 0 || !recording()) return;
  mark_used(g_hook_nvtx_range);
  write_record(g_hook_nvtx_range, range.begun, ticks(), range.name, id_of(range.domain), 0);
}

// ---- ranges that lie inside each other, of one thread; each domain counts its own ----

constexpr int kDeepest = 16;
struct OpenRanges {
  int count;  // of all domains, those that lie too deep included
  Range range[kDeepest];
};
constinit thread_local OpenRanges t_open{};

// Those that lie too deep are taken for the domain's own.
int level_of(const Name* domain) {
  int level = t_open.count > kDeepest ? t_open.count - kDeepest : 0;
  for (int i = 0; i < t_open.count && i < kDeepest; ++i) level += t_open.range[i].domain == domain;
  return level;
}

// `message`: a text, or an event that has one; read only where the range is recorded.
template <class Message>
Range begun(const Name* domain, Message message) {
  if (!is_heard(domain)) return {domain, 0, 0};
  const std::uint32_t name = id_of(message);
  return {domain, ticks(), name};
}

template <class Message>
int push(const Name* domain, Message message) {
  const int level = level_of(domain);
  if (t_open.count < kDeepest) t_open.range[t_open.count] = begun(domain, message);
  ++t_open.count;
  return level;
}

int pop(const Name* domain) {
  constexpr int kNoRange = -1;
  OpenRanges& open = t_open;
  if (open.count > kDeepest) {
    --open.count;
    return level_of(domain);
  }
  for (int i = open.count - 1; i >= 0; --i) {
    if (open.range[i].domain != domain) continue;
    record(open.range[i]);
    for (int after = i + 1; after < open.count; ++after) open.range[after - 1] = open.range[after];
    --open.count;
    return level_of(domain);
  }
  return kNoRange;
}

int push_text(const char* text) { return push(nullptr, text); }
int push_event(const nvtx::Attributes* event) { return push(nullptr, event); }
int push_in(const Name* domain, const nvtx::Attributes* event) { return push(domain, event); }
int pop_last() { return pop(nullptr); }

// ---- ranges that end wherever they like ----

constexpr std::uint64_t kStarted = 256;
struct Started {
  std::atomic<std::uint64_t> id;  // 0: free
  Range range;
};
HP_OF_PROCESS constinit Started g_started[kStarted]{};
HP_OF_PROCESS std::atomic<std::uint64_t> g_last_id{0};

// Where another one that has not ended has the place, this one is not recorded.
template <class Message>
std::uint64_t start(const Name* domain, Message message) {
  const std::uint64_t id = g_last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  Started& place = g_started[id % kStarted];
  const Range range = begun(domain, message);
  std::uint64_t none = 0;
  if (range.begun == 0 || !place.id.compare_exchange_strong(none, ~std::uint64_t{0}, std::memory_order_acquire))
    return id;
  place.range = range;
  place.id.store(id, std::memory_order_release);
  return id;
}

void end(std::uint64_t id) {
  Started& place = g_started[id % kStarted];
  if (id == 0 || place.id.load(std::memory_order_acquire) != id) return;
  const Range range = place.range;
  if (place.id.compare_exchange_strong(id, 0, std::memory_order_acq_rel)) record(range);
}

std::uint64_t start_text(const char* text) { return start(nullptr, text); }
std::uint64_t start_event(const nvtx::Attributes* event) { return start(nullptr, event); }
std::uint64_t start_in(const Name* domain, const nvtx::Attributes* event) { return start(domain, event); }
void end_in(const Name*, std::uint64_t id) { end(id); }

// ---- marks, names ----

void record_mark(const Name* domain, std::uint32_t name, double value) {
  mark_used(g_hook_nvtx_mark);
  const std::uint64_t now = ticks();
  write_record(g_hook_nvtx_mark, now, now, name, std::bit_cast<std::uint64_t>(value), 0, id_of(domain));
}
void mark_text(const char* text) {
  if (is_heard(nullptr)) record_mark(nullptr, id_of(text), 0);
}
void mark_in(const Name* domain, const nvtx::Attributes* event) {
  if (event != nullptr && is_heard(domain)) record_mark(domain, id_of(event), payload_of(event));
}
void mark_event(const nvtx::Attributes* event) { mark_in(nullptr, event); }

const Name* register_text(const Name*, const char* text) { return keep_name(text); }

const Name* create_domain(const char* text) {
  const Name* domain = keep_name(text);
  if (domain == &g_no_more) return domain;
  for (const char* start : {"cu", "CCCL", "CUB", "libcu"})
    if (strncmp(domain->text, start, strlen(start)) == 0) const_cast<Name*>(domain)->is_passed_over = true;
  return domain;
}

template <class Result, class... Args>
nvtx::Function plain(Result (*function)(Args...)) {
  return reinterpret_cast<nvtx::Function>(function);
}

struct Entry {
  std::uint32_t number;
  nvtx::Function function;
};

template <unsigned count>
bool attach(const nvtx::Callbacks& callbacks, std::uint32_t module, const Entry (&entries)[count]) {
  nvtx::FunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks.module_functions(module, &table, &size) == 0 || table == nullptr) return false;
  for (const Entry& entry : entries)
    if (entry.number < size && table[entry.number] != nullptr) *table[entry.number] = entry.function;
  return true;
}

}  // namespace

void forget_ranges() { t_open = {}; }

}  // namespace hostprobe::probe

// NVTX calls it once for each library that has a copy of it. 1: we are its tool.
extern "C" HP_EXPORT int InitializeInjectionNvtx2(hostprobe::probe::nvtx::GetExportTable get_table) {
  using namespace hostprobe::probe;
  auto* callbacks = static_cast<const nvtx::Callbacks*>(get_table(nvtx::kCallbacks));
  if (callbacks == nullptr || callbacks->bytes < sizeof *callbacks) return 0;
  const Entry core[] = {{nvtx::kMarkEx, plain(mark_event)},
                        {nvtx::kMarkA, plain(mark_text)},
                        {nvtx::kRangeStartEx, plain(start_event)},
                        {nvtx::kRangeStartA, plain(start_text)},
                        {nvtx::kRangeEnd, plain(end)},
                        {nvtx::kRangePushEx, plain(push_event)},
                        {nvtx::kRangePushA, plain(push_text)},
                        {nvtx::kRangePop, plain(pop_last)}};
  const Entry core2[] = {
      {nvtx::kDomainMarkEx, plain(mark_in)},       {nvtx::kDomainRangeStartEx, plain(start_in)},
      {nvtx::kDomainRangeEnd, plain(end_in)},      {nvtx::kDomainRangePushEx, plain(push_in)},
      {nvtx::kDomainRangePop, plain(pop)},         {nvtx::kDomainRegisterStringA, plain(register_text)},
      {nvtx::kDomainCreateA, plain(create_domain)}};
  return attach(*callbacks, nvtx::kCore, core) && attach(*callbacks, nvtx::kCore2, core2) ? 1 : 0;
}
