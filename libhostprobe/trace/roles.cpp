// roles.cpp: see roles.h. One table per kind of evidence; the first row that fits decides.
#include "roles.h"

#include <cstring>
#include <initializer_list>
#include <optional>

#include "answer/file_name.h"
#include "symbols.h"
#include "trace.h"

namespace hostprobe::analysis {
namespace {

struct Row {
  const char* part;  // what the evidence must contain, or begin with
  Role role;
};

// The type of the state behind a std::thread, demangled. NCCL from 2.29.2, gloo, c10d and autograd are told by it.
constexpr Row kTypes[] = {
    {"torch::autograd", Role::kAutograd},     {"ncclProxyProgress", Role::kNcclProgress},
    {"ncclGinProgress", Role::kNcclProgress}, {"ncclRmaProxyProgress", Role::kNcclProgress},
    {"ncclProxyService", Role::kNcclService}, {"Watchdog", Role::kWatchdog},
    {"HeartbeatMonitor", Role::kWatchdog},    {"ProcessGroupNCCL", Role::kWatchdog},
    {"ProcessGroupGloo", Role::kGloo},        {"gloo::", Role::kGloo},
};

constexpr Row kStartRoutines[] = {
    {"ncclProxyProgress", Role::kNcclProgress},   {"ncclGinProgress", Role::kNcclProgress},
    {"ncclProxyService", Role::kNcclService},     {"nccl", Role::kNcclOther},
    {"rasThreadMain", Role::kNcclOther},          {"bootstrapRoot", Role::kNcclOther},
    {"persistentSocketThread", Role::kNcclOther},
};

constexpr Row kNames[] = {
    {"NCCL Progress", Role::kNcclProgress},
    {"NCCL GIN Progre", Role::kNcclProgress},
    {"NCCL RMA Proxy", Role::kNcclProgress},
    {"NCCL Service", Role::kNcclService},
    {"NCCL UDS", Role::kNcclService},
    {"NCCL ", Role::kNcclOther},
    {"pt_autograd", Role::kAutograd},
    {"pt_data_pin", Role::kPinMemory},
    {"pt_data_worker", Role::kDataloader},
    {"pt_gloo", Role::kGloo},
    {"gloo_", Role::kGloo},
    {"pt_nccl_", Role::kWatchdog},
    {"cuda-EvtHandlr", Role::kCudaInternal},
    {"cuda0", Role::kCudaInternal},
    {"cuda", Role::kCudaInternal},
    {"hostprobe", Role::kHostprobe},
    {"loader", Role::kDataloader},
    {"data_loader", Role::kDataloader},
    {"dataloader", Role::kDataloader},
    {"prefetch", Role::kDataloader},
};

// The module that holds the start routine, or, for a std::thread, the creator.
constexpr Row kModules[] = {
    {"libhostprobe.so", Role::kHostprobe},
    {"libcuda.so", Role::kCudaInternal},
    {"libgomp", Role::kOpenmp},
    {"libomp", Role::kOpenmp},
    {"libiomp", Role::kOpenmp},
    {"libgloo", Role::kGloo},
};

// Functions of PyTorch's own loops, as "function (file:line)".
constexpr Row kPythonFrames[] = {
    {"_worker_loop (", Role::kDataloader},
    {"_pin_memory_loop (", Role::kPinMemory},
};

template <std::size_t N>
std::optional<Role> containing(const Row (&rows)[N], std::string_view text) {
  for (const Row& row : rows) {
    if (text.find(row.part) != std::string_view::npos) return row.role;
  }
  return std::nullopt;
}

template <std::size_t N>
std::optional<Role> beginning(const Row (&rows)[N], std::string_view text) {
  for (const Row& row : rows) {
    if (text.starts_with(row.part)) return row.role;
  }
  return std::nullopt;
}

std::string module_name(const Trace& trace, std::uint64_t address) {
  const Module* module = address == 0 ? nullptr : trace.module_at(address);
  return module == nullptr ? std::string() : base_name(module->path);
}

std::optional<Role> by_creation(const Trace& trace, const Thread& thread, Symbols& symbols) {
  const std::string start = module_name(trace, thread.entry.start_routine);
  const std::string creator = module_name(trace, thread.entry.creator_site);
  if (auto role = beginning(kModules, start)) return role;
  if (auto role = beginning(kModules, creator)) return role;
  if (start.starts_with("libnccl.so") || creator.starts_with("libnccl.so")) {
    const CodePlace place = symbols.place(trace, thread.entry.start_routine, false);
    if (auto role = beginning(kStartRoutines, place.function)) return role;
    return beginning(kNames, thread.name).value_or(Role::kNcclOther);
  }
  return std::nullopt;
}

std::optional<Role> by_type(const Trace& trace, const Thread& thread) {
  const std::string_view type = trace.strings.text(thread.entry.type_name);
  return type.empty() ? std::nullopt : containing(kTypes, demangle_type(std::string(type)));
}

std::optional<Role> by_python(const Trace& trace, const Thread& thread) {
  for (const std::uint16_t id : thread.stacks) {
    const auto stack = trace.stacks.find(id - 1u);
    if (stack == trace.stacks.end()) continue;
    for (const std::uint32_t frame : stack->second.python) {
      if (auto role = beginning(kPythonFrames, trace.strings.text(frame))) return role;
    }
  }
  return std::nullopt;
}

Role role_named(std::string_view name) {
  for (Role role = Role::kMain; role != Role::kOther; role = static_cast<Role>(static_cast<int>(role) + 1))
    if (name == role_name(role)) return role;
  return Role::kOther;
}

// By Python's multiprocessing, as a program of its own.
bool is_spawned(const FileHeader& header) {
  const std::string_view command(header.command, strnlen(header.command, sizeof(header.command)));
  return command.find("multiprocessing.spawn") != std::string_view::npos ||
         command.find("--multiprocessing-fork") != std::string_view::npos;
}

}  // namespace

Role role_of(const Trace& trace, const Thread& thread, Symbols& symbols) {
  // A table says the role itself, where otherwise the type stands.
  if (trace.header.source == kFromTable && thread.entry.type_name != 0)
    return role_named(trace.strings.text(thread.entry.type_name));
  const bool first = thread.key.tid == trace.header.pid;
  if (!first) {
    if (auto role = by_creation(trace, thread, symbols)) return role.value();
    if (auto role = by_type(trace, thread)) return role.value();
  }
  // A DataLoader worker is a process of its own: there even the first thread is the loader's.
  if (!first || trace.header.forked_from != 0 || is_spawned(trace.header)) {
    if (auto role = by_python(trace, thread)) return role.value();
    // Of a worker's threads only the first has that name of its own, the others inherit it.
    const bool inherits = !first && thread.name.starts_with("pt_data_worker");
    const auto role = inherits ? std::nullopt : beginning(kNames, thread.name);
    if (role && (!first || role == Role::kDataloader)) return role.value();
  }
  return first ? Role::kMain : Role::kOther;
}

}  // namespace hostprobe::analysis
