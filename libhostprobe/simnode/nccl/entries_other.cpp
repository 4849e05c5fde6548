// What does not move data: version and errors, reduction operators, memory and its registration, growing, and the functions
// that are not modelled.
#include "entry.h"
#include "group.h"
#include "last_error.h"
#include "reduce.h"

#include <algorithm>
#include <cstring>

struct ncclTeam {
  int nRanks, rank, stride;
};

namespace {

using namespace simnode::nccl;

ncclResult_t find_any(ncclComm_t handle, const char* call, std::shared_ptr<Communicator>* communicator) {
  if (handle == nullptr) return fail(ncclInvalidArgument, "%s : comm argument is NULL", call);
  *communicator = find_communicator(handle);
  if (*communicator != nullptr) return ncclSuccess;
  return fail(ncclInvalidArgument, "%s : the communicator does not exist or was destroyed", call);
}

ncclResult_t not_modelled(const char* call) {
  return fail(ncclInvalidUsage, "%s is not modelled by the simulated libnccl.so.2", call);
}

// What ncclCommRegister and ncclCommWindowRegister hand out.
struct Registration {
  void* buffer;
  size_t bytes;
};

ncclResult_t add_registration(ncclComm_t handle, const char* call, void* buffer, size_t bytes, void** out) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_ready(handle, call, &communicator));
  if (buffer == nullptr || bytes == 0 || out == nullptr)
    return fail(ncclInvalidArgument, "%s : buffer, size or the place for the handle is missing", call);
  auto* made = new Registration{buffer, bytes};
  simnode::MutexLock lock(communicator->mutex);
  communicator->registrations.push_back(made);
  *out = made;
  return ncclSuccess;
}

ncclResult_t remove_registration(ncclComm_t handle, const char* call, void* registration) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(handle, call, &communicator));
  if (registration == nullptr) return ncclSuccess;
  simnode::MutexLock lock(communicator->mutex);
  if (std::erase(communicator->registrations, registration) == 0)
    return fail(ncclInvalidArgument, "%s : %p is not registered with this communicator", call, registration);
  delete static_cast<Registration*>(registration);
  return ncclSuccess;
}

// The parameters that this library reads, as ncclParam* shows them.
const char* const kKeys[] = {
    "NCCL_BUFFSIZE",          "NCCL_COMM_BLOCKING", "NCCL_DEBUG",          "NCCL_IGNORE_CPU_AFFINITY",
    "NCCL_P2P_NET_CHUNKSIZE", "NCCL_RAS_ENABLE",    "NCCL_SET_THREAD_NAME"};

std::string value_of(size_t key) {
  const Settings& all = settings();
  switch (key) {
    case 0:
      return std::to_string(all.buffer_bytes);
    case 1:
      return std::to_string(all.blocking ? 1 : 0);
    case 2:
      return all.warn ? "WARN" : "NONE";
    case 3:
      return std::to_string(all.ignore_affinity ? 1 : 0);
    case 4:
      return std::to_string(all.p2p_chunk_bytes);
    case 5:
      return std::to_string(all.ras ? 1 : 0);
    default:
      return std::to_string(all.name_threads ? 1 : 0);
  }
}

// A handle is the key's place in the list, plus one.
ncclResult_t find_key(ncclParamHandle_t handle, size_t* key) {
  auto place = reinterpret_cast<uintptr_t>(handle);
  if (place == 0 || place > std::size(kKeys))
    return fail(ncclInvalidArgument, "unknown parameter handle %p", static_cast<void*>(handle));
  *key = place - 1;
  return ncclSuccess;
}

ncclResult_t find_key(const char* name, size_t* key) {
  for (size_t i = 0; name != nullptr && i < std::size(kKeys); ++i) {
    if (strcmp(kKeys[i], name) != 0 && strcmp(kKeys[i] + strlen("NCCL_"), name) != 0) continue;
    *key = i;
    return ncclSuccess;
  }
  return fail(ncclInvalidArgument, "unknown parameter %s", name == nullptr ? "(null)" : name);
}

template <class Number>
ncclResult_t get_number(ncclParamHandle_t handle, Number* value) {
  size_t key = 0;
  NCCL_TRY(find_key(handle, &key));
  if (value == nullptr) return fail(ncclInvalidArgument, "the place for the value is missing");
  char* end;
  std::string text = value_of(key);
  long long number = strtoll(text.c_str(), &end, 10);
  if (*end != '\0') return fail(ncclInvalidArgument, "%s is not a number", kKeys[key]);
  if (static_cast<long long>(static_cast<Number>(number)) != number)
    return fail(ncclInvalidArgument, "%s=%lld does not fit into the type asked for", kKeys[key], number);
  *value = static_cast<Number>(number);
  return ncclSuccess;
}

ncclResult_t make_op(ncclRedOp_t* op, const void* scalar, ncclDataType_t type, ncclScalarResidence_t residence,
                     Communicator& communicator) {
  auto own = std::make_unique<UserOp>(UserOp{type, nullptr, 0});
  if (residence == ncclScalarDevice)
    own->scalar = scalar;
  else
    memcpy(&own->scalar_value, scalar, bytes_of(type));
  simnode::MutexLock lock(communicator.mutex);
  auto free = std::find(communicator.ops.begin(), communicator.ops.end(), nullptr);
  if (free == communicator.ops.end()) free = communicator.ops.insert(free, nullptr);
  *op = static_cast<ncclRedOp_t>(ncclNumOps + (free - communicator.ops.begin()));
  *free = std::move(own);
  return ncclSuccess;
}

ncclTeam team_of_host(const Communicator& communicator) {
  ncclTeam team{0, 0, 1};
  for (int i = 0; i < communicator.ranks(); ++i) {
    if (communicator.peer(i).host != communicator.peer(communicator.rank()).host) continue;
    if (i < communicator.rank()) ++team.rank;
    ++team.nRanks;
  }
  return team;
}

}  // namespace

NCCL_ENTRY(ncclResult_t, ncclGetVersion, (int* version), (version)) {
  if (version == nullptr) return fail(ncclInvalidArgument, "GetVersion : version argument is NULL");
  *version = settings().version != 0 ? settings().version : NCCL_VERSION_CODE;
  return ncclSuccess;
}

NCCL_ENTRY(const char*, ncclGetErrorString, (ncclResult_t result), (result)) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=WARN for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=WARN for details)";
    case ncclInternalError:
      return "internal error (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclTimeout:
      return "NCCL operation timed out";
    default:
      return "unknown result code";
  }
}

NCCL_ENTRY(const char*, ncclGetLastError, (ncclComm_t comm), (comm)) { return last_error(); }

// Reloads NCCL_DEBUG in NCCL; here settings are read once.
extern "C" SIMNODE_EXPORTED void pncclResetDebugInit() {
  static simnode::nccl::Counter counter("ncclResetDebugInit");
  counter.add();
}
extern "C" SIMNODE_EXPORTED __attribute__((weak, alias("pncclResetDebugInit"))) void ncclResetDebugInit();

NCCL_ENTRY(ncclResult_t, ncclRedOpCreatePreMulSum,
           (ncclRedOp_t * op, void* scalar, ncclDataType_t type, ncclScalarResidence_t residence, ncclComm_t comm),
           (op, scalar, type, residence, comm)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_ready(comm, "RedOpCreatePreMulSum", &communicator));
  bool type_known = static_cast<int>(type) >= 0 && type < ncclNumTypes;
  bool residence_known = residence == ncclScalarDevice || residence == ncclScalarHostImmediate;
  if (op == nullptr || scalar == nullptr || !type_known || !residence_known)
    return fail(ncclInvalidArgument, "RedOpCreatePreMulSum : op, scalar, type or residence is missing or unknown");
  return make_op(op, scalar, type, residence, *communicator);
}

NCCL_ENTRY(ncclResult_t, ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm), (op, comm)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(comm, "RedOpDestroy", &communicator));
  auto value = static_cast<int64_t>(op);
  if (value < ncclNumOps) return fail(ncclInvalidArgument, "RedOpDestroy : operator is a NCCL builtin");
  auto index = static_cast<size_t>(value - ncclNumOps);
  simnode::MutexLock lock(communicator->mutex);
  if (index >= communicator->ops.size() || communicator->ops[index] == nullptr)
    return fail(ncclInvalidArgument, "RedOpDestroy : operator unknown to this communicator");
  communicator->ops[index] = nullptr;
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclMemAlloc, (void** pointer, size_t bytes), (pointer, bytes)) {
  if (pointer == nullptr || bytes == 0)
    return fail(ncclInvalidArgument, "MemAlloc : no place for the pointer, or no bytes");
  if (driver() == nullptr) return fail(ncclUnhandledCudaError, "no usable driver");
  CUdeviceptr made = 0;
  NCCL_TRY(check_cuda(driver()->allocate(&made, bytes), "cuMemAlloc"));
  *pointer = reinterpret_cast<void*>(made);
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclMemFree, (void* pointer), (pointer)) {
  if (pointer == nullptr) return ncclSuccess;
  if (driver() == nullptr) return fail(ncclUnhandledCudaError, "no usable driver");
  return check_cuda(driver()->free(reinterpret_cast<CUdeviceptr>(pointer)), "cuMemFree");
}

NCCL_ENTRY(ncclResult_t, ncclCommRegister, (const ncclComm_t comm, void* buffer, size_t bytes, void** handle),
           (comm, buffer, bytes, handle)) {
  return add_registration(comm, "CommRegister", buffer, bytes, handle);
}

NCCL_ENTRY(ncclResult_t, ncclCommDeregister, (const ncclComm_t comm, void* handle), (comm, handle)) {
  return remove_registration(comm, "CommDeregister", handle);
}

NCCL_ENTRY(ncclResult_t, ncclCommWindowRegister,
           (ncclComm_t comm, void* buffer, size_t bytes, ncclWindow_t* window, int flags),
           (comm, buffer, bytes, window, flags)) {
  return add_registration(comm, "CommWindowRegister", buffer, bytes, reinterpret_cast<void**>(window));
}

NCCL_ENTRY(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t comm, ncclWindow_t window), (comm, window)) {
  return remove_registration(comm, "CommWindowDeregister", window);
}

NCCL_ENTRY(ncclResult_t, ncclWinGetUserPtr, (ncclComm_t comm, ncclWindow_t window, void** pointer),
           (comm, window, pointer)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(comm, "WinGetUserPtr", &communicator));
  simnode::MutexLock lock(communicator->mutex);
  const auto& all = communicator->registrations;
  if (pointer == nullptr || std::find(all.begin(), all.end(), static_cast<void*>(window)) == all.end())
    return fail(ncclInvalidArgument, "WinGetUserPtr : %p is not registered", static_cast<void*>(window));
  *pointer = reinterpret_cast<Registration*>(window)->buffer;
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclCommSuspend, (ncclComm_t comm, int flags), (comm, flags)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_ready(comm, "CommSuspend", &communicator));
  if (flags != 1 || communicator->suspended)
    return fail(ncclInvalidArgument, "CommSuspend : unknown flags, or suspended already");
  communicator->suspended = true;
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclCommResume, (ncclComm_t comm), (comm)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(comm, "CommResume", &communicator));
  if (!communicator->suspended) return fail(ncclInvalidUsage, "CommResume : the communicator is not suspended");
  communicator->suspended = false;
  return ncclSuccess;
}

// The simulated NCCL keeps no device memory of its own.
NCCL_ENTRY(ncclResult_t, ncclCommMemStats, (ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value),
           (comm, stat, value)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(comm, "CommMemStats", &communicator));
  bool known = static_cast<int>(stat) >= 0 && stat <= ncclStatGpuMemTotal;
  if (value == nullptr || !known)
    return fail(ncclInvalidArgument, "CommMemStats : unknown statistic, or no place for it");
  *value = stat == ncclStatGpuMemSuspended && communicator->suspended ? 1 : 0;
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclSetEncryption, (const ncclEncryptionConfig_t* config), (config)) {
  if (config == nullptr || config->magic != 0xcafebeef)
    return fail(ncclInvalidArgument,
                "ncclEncryptionConfig_t argument not initialized via NCCL_ENCRYPTION_CONFIG_INITIALIZER");
  return config->mode == 0 ? ncclSuccess : not_modelled("ncclSetEncryption with a key");
}

NCCL_ENTRY(ncclResult_t, ncclCommGetUniqueId, (ncclComm_t comm, ncclUniqueId* id), (comm, id)) {
  return not_modelled("ncclCommGetUniqueId");
}

NCCL_ENTRY(ncclResult_t, ncclCommGrow,
           (ncclComm_t comm, int nranks, const ncclUniqueId* id, int rank, ncclComm_t* newcomm, ncclConfig_t* config),
           (comm, nranks, id, rank, newcomm, config)) {
  return note_error(not_modelled("ncclCommGrow"));
}

NCCL_ENTRY(ncclResult_t, ncclParamBind, (ncclParamHandle_t * handle, const char* key), (handle, key)) {
  size_t place = 0;
  NCCL_TRY(find_key(key, &place));
  if (handle == nullptr) return fail(ncclInvalidArgument, "ParamBind : out argument is NULL");
  *handle = reinterpret_cast<ncclParamHandle_t>(place + 1);
  return ncclSuccess;
}

#define NCCL_PARAMETER(suffix, type)                                                                          \
  NCCL_ENTRY(ncclResult_t, ncclParamGet##suffix, (ncclParamHandle_t handle, type * value), (handle, value)) { \
    return get_number(handle, value);                                                                         \
  }
NCCL_PARAMETER(I8, int8_t)
NCCL_PARAMETER(I16, int16_t)
NCCL_PARAMETER(I32, int32_t)
NCCL_PARAMETER(I64, int64_t)
NCCL_PARAMETER(U8, uint8_t)
NCCL_PARAMETER(U16, uint16_t)
NCCL_PARAMETER(U32, uint32_t)
NCCL_PARAMETER(U64, uint64_t)

NCCL_ENTRY(ncclResult_t, ncclParamGetStr, (ncclParamHandle_t handle, const char** value), (handle, value)) {
  thread_local std::string text;
  size_t key = 0;
  NCCL_TRY(find_key(handle, &key));
  if (value == nullptr) return fail(ncclInvalidArgument, "ParamGetStr : out argument is NULL");
  text = value_of(key);
  *value = text.c_str();
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclParamGet, (ncclParamHandle_t handle, void* value, int capacity, int* length),
           (handle, value, capacity, length)) {
  int64_t number = 0;
  NCCL_TRY(get_number(handle, &number));
  if (value == nullptr || capacity < static_cast<int>(sizeof number))
    return fail(ncclInvalidArgument, "ParamGet : no place for %zu bytes", sizeof number);
  memcpy(value, &number, sizeof number);
  if (length != nullptr) *length = static_cast<int>(sizeof number);
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclParamGetParameter, (const char* key, const char** value, int* length),
           (key, value, length)) {
  thread_local std::string text;
  size_t place = 0;
  NCCL_TRY(find_key(key, &place));
  if (value == nullptr) return fail(ncclInvalidArgument, "ParamGetParameter : out argument is NULL");
  text = value_of(place);
  *value = text.c_str();
  if (length != nullptr) *length = static_cast<int>(text.size());
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclParamGetAllParameterKeys, (const char*** table, int* length), (table, length)) {
  if (table == nullptr || length == nullptr)
    return fail(ncclInvalidArgument, "ParamGetAllParameterKeys : out argument is NULL");
  *table = const_cast<const char**>(kKeys);
  *length = static_cast<int>(std::size(kKeys));
  return ncclSuccess;
}

NCCL_ENTRY(void, ncclParamDumpAll, (), ()) {
  for (size_t i = 0; i < std::size(kKeys); ++i) fprintf(stdout, "%s=%s\n", kKeys[i], value_of(i).c_str());
}

// The first members of ncclCommProperties_t; the rest says what devices can do by themselves here: nothing.
struct CommProperties {
  size_t size;
  unsigned magic, version;
  int rank, ranks, cuda_device, nvml_device;
};

NCCL_ENTRY(ncclResult_t, ncclCommQueryProperties, (ncclComm_t comm, CommProperties* out), (comm, out)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_ready(comm, "CommQueryProperties", &communicator));
  if (out == nullptr || out->magic != 0xcafebeef || out->size < sizeof *out)
    return fail(ncclInvalidArgument,
                "ncclCommProperties_t argument not initialized via NCCL_COMM_PROPERTIES_INITIALIZER");
  memset(reinterpret_cast<char*>(out) + sizeof *out, 0, out->size - sizeof *out);
  out->rank = communicator->rank();
  out->ranks = communicator->ranks();
  out->cuda_device = out->nvml_device = communicator->device();
  return ncclSuccess;
}

NCCL_ENTRY(ncclTeam, ncclTeamWorld, (ncclComm_t comm), (comm)) {
  std::shared_ptr<Communicator> communicator;
  if (find_ready(comm, "TeamWorld", &communicator) != ncclSuccess) return {0, 0, 0};
  return {communicator->ranks(), communicator->rank(), 1};
}

NCCL_ENTRY(ncclTeam, ncclTeamLsa, (ncclComm_t comm), (comm)) {
  std::shared_ptr<Communicator> communicator;
  if (find_ready(comm, "TeamLsa", &communicator) != ncclSuccess) return {0, 0, 0};
  return team_of_host(*communicator);
}

NCCL_ENTRY(ncclTeam, ncclTeamRail, (ncclComm_t comm), (comm)) {
  std::shared_ptr<Communicator> communicator;
  if (find_ready(comm, "TeamRail", &communicator) != ncclSuccess) return {0, 0, 0};
  ncclTeam host = team_of_host(*communicator);
  return {communicator->ranks() / host.nRanks, communicator->rank() / host.nRanks, host.nRanks};
}

NCCL_ENTRY(ncclTeam, ncclTeamCft, (ncclComm_t comm, int mode), (comm, mode)) {
  not_modelled("ncclTeamCft");
  return {0, 0, 0};
}

NCCL_ENTRY(ncclTeam, ncclTeamCftMultimem, (ncclComm_t comm), (comm)) {
  not_modelled("ncclTeamCftMultimem");
  return {0, 0, 0};
}

// Rank r of a team is as many strides away from this one as their ranks in it differ.
NCCL_ENTRY(int, ncclTeamRankToWorld, (ncclComm_t comm, ncclTeam team, int rank), (comm, team, rank)) {
  std::shared_ptr<Communicator> communicator;
  if (find_ready(comm, "TeamRankToWorld", &communicator) != ncclSuccess) return -1;
  return communicator->rank() + (rank - team.rank) * team.stride;
}

NCCL_ENTRY(int, ncclTeamRankToLsa, (ncclComm_t comm, ncclTeam team, int rank), (comm, team, rank)) {
  std::shared_ptr<Communicator> communicator;
  if (find_ready(comm, "TeamRankToLsa", &communicator) != ncclSuccess) return -1;
  return team_of_host(*communicator).rank + (rank - team.rank) * team.stride;
}

NCCL_ENTRY(int, ncclLLA2ACalcSlots, (int elements, int bytes), (elements, bytes)) {
  not_modelled("ncclLLA2ACalcSlots");
  return 0;
}

#define NCCL_NOT_MODELLED(result, name, parameters, arguments) \
  NCCL_ENTRY(result, name, parameters, arguments) { return note_error(not_modelled(#name)); }
#include "device_functions.def"
