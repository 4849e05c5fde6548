// Making, asking and ending communicators.
#include "entry.h"
#include "group.h"
#include "last_error.h"
#include "reduce.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace {

using namespace simnode::nccl;

constexpr unsigned kConfigMagic = 0xcafebeef;
constexpr int kUndefined = INT_MIN;
constexpr int kNoColor = -1;

// What is read of a ncclConfig_t. Only what its size says is there: it has grown from release to release.
struct Choices {
  bool blocking;
  std::string name;
};

#define CONFIG_HAS(config, member) ((config)->size >= offsetof(ncclConfig_t, member) + sizeof((config)->member))

ncclResult_t check_number(const char* what, int value, int low, int high) {
  if (value == kUndefined || (value >= low && value <= high)) return ncclSuccess;
  return fail(ncclInvalidArgument, "Invalid config %s attribute value %d", what, value);
}

ncclResult_t read_config(const ncclConfig_t* config, Choices* choices) {
  if (config == nullptr) return ncclSuccess;
  if (config->magic != kConfigMagic || !CONFIG_HAS(config, blocking))
    return fail(ncclInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
  NCCL_TRY(check_number("blocking", config->blocking, 0, 1));
  if (config->blocking != kUndefined) choices->blocking = config->blocking != 0;
  if (CONFIG_HAS(config, cgaClusterSize)) NCCL_TRY(check_number("cgaClusterSize", config->cgaClusterSize, 0, 8));
  if (CONFIG_HAS(config, minCTAs)) NCCL_TRY(check_number("minCTAs", config->minCTAs, 1, INT_MAX));
  if (CONFIG_HAS(config, maxCTAs)) NCCL_TRY(check_number("maxCTAs", config->maxCTAs, 1, INT_MAX));
  bool both = CONFIG_HAS(config, maxCTAs) && config->minCTAs != kUndefined && config->maxCTAs != kUndefined;
  if (both && config->minCTAs > config->maxCTAs)
    return fail(ncclInvalidArgument, "Invalid config min/max channels attribute values %d/%d", config->minCTAs,
                config->maxCTAs);
  if (CONFIG_HAS(config, splitShare)) NCCL_TRY(check_number("splitShare", config->splitShare, 0, 1));
  if (CONFIG_HAS(config, commName) && config->commName != nullptr) choices->name = config->commName;
  return ncclSuccess;
}

Origin origin_of(int rank, int ranks) {
  const Settings& all = settings();
  if (all.rank >= 0 && all.ranks > all.rank) return {all.rank, all.ranks};
  return {rank, ranks};
}

ncclResult_t check_place(const char* call, const void* handle, int ranks, int rank) {
  if (handle == nullptr) return fail(ncclInvalidArgument, "%s : newcomm argument is NULL", call);
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return fail(ncclInvalidArgument, "%s : invalid rank requested : %d/%d", call, rank, ranks);
  return ncclSuccess;
}

// Registers it, gives the handle out at once as NCCL does, and leaves the rest to the group.
ncclResult_t start_making(const std::shared_ptr<Communicator>& made, ncclComm_t* handle,
                          std::function<ncclResult_t()> body) {
  *handle = add_communicator(made);
  return add_to_group(Making{made, handle, std::move(body)});
}

ncclResult_t init_rank(const char* call, ncclComm_t* handle, int ranks, const ncclUniqueId& id, int rank,
                       const ncclConfig_t* config, Origin origin) {
  NCCL_TRY(note_error(check_place(call, handle, ranks, rank)));
  *handle = nullptr;
  Choices choices{settings().blocking, ""};
  NCCL_TRY(note_error(read_config(config, &choices)));
  auto made = std::make_shared<Communicator>(choices.blocking, origin);
  made->place(rank, ranks);
  made->name = choices.name;
  NCCL_TRY(note_error(made->take_device()));
  return start_making(made, handle, [made = made.get(), id] { return made->init(id); });
}

ncclResult_t check_devices(int count, const int* devices, int there) {
  if (count < 1 || (devices == nullptr && count > there))
    return fail(ncclInvalidArgument, "CommInitAll : invalid device count requested : %d of %d", count, there);
  for (int i = 0; devices != nullptr && i < count; ++i) {
    if (devices[i] < 0 || devices[i] >= there)
      return fail(ncclInvalidArgument, "CommInitAll : invalid device %d of %d", devices[i], there);
    for (int j = 0; j < i; ++j)
      if (devices[j] == devices[i]) return fail(ncclInvalidUsage, "CommInitAll : device %d listed twice", devices[i]);
  }
  return ncclSuccess;
}

ncclResult_t init_all(ncclComm_t* handles, int count, const int* devices) {
  const Driver* cuda = driver();
  if (cuda == nullptr) return fail(ncclUnhandledCudaError, "no usable driver");
  NCCL_TRY(check_cuda(cuda->init(0), "cuInit"));
  int there = 0;
  NCCL_TRY(check_cuda(cuda->device_count(&there), "cuDeviceGetCount"));
  if (handles == nullptr) return fail(ncclInvalidArgument, "CommInitAll : comms argument is NULL");
  NCCL_TRY(check_devices(count, devices, there));
  ncclUniqueId id;
  NCCL_TRY(make_unique_id(&id));
  group_start();
  for (int i = 0; i < count; ++i) {
    CUcontext context = nullptr;
    ncclResult_t result =
        check_cuda(cuda->retain_primary(&context, devices != nullptr ? devices[i] : i), "cuDevicePrimaryCtxRetain");
    if (result == ncclSuccess) {
      CurrentContext current(context);
      init_rank("CommInitAll", &handles[i], count, id, i, nullptr, Origin{i, count});
    } else {
      note_error(result);
    }
  }
  return group_end();
}

struct Color {
  int color, key;
};

// The ranks of one colour, in the order of their keys.
std::vector<int> members(const std::vector<Color>& colors, int color) {
  std::vector<int> all;
  for (size_t i = 0; i < colors.size(); ++i)
    if (colors[i].color == color) all.push_back(static_cast<int>(i));
  std::stable_sort(all.begin(), all.end(), [&](int a, int b) {
    return colors[static_cast<size_t>(a)].key < colors[static_cast<size_t>(b)].key;
  });
  return all;
}

ncclResult_t split(Communicator& parent, Communicator* made, Color mine) {
  std::vector<char> bytes;
  NCCL_TRY(parent.exchange(&mine, sizeof mine, &bytes));
  std::vector<Color> colors(bytes.size() / sizeof(Color));
  memcpy(colors.data(), bytes.data(), bytes.size());
  std::vector<int> all = mine.color == kNoColor ? std::vector<int>{-1} : members(colors, mine.color);
  ncclUniqueId id{};
  if (all[0] == parent.rank()) NCCL_TRY(make_unique_id(&id));
  NCCL_TRY(parent.exchange(&id, sizeof id, &bytes));
  if (made == nullptr) return ncclSuccess;
  memcpy(&id, bytes.data() + sizeof id * static_cast<size_t>(all[0]), sizeof id);
  auto place = std::find(all.begin(), all.end(), parent.rank()) - all.begin();
  made->place(static_cast<int>(place), static_cast<int>(all.size()));
  return made->init(id);
}

ncclResult_t start_split(ncclComm_t handle, Color mine, ncclComm_t* out, const ncclConfig_t* config) {
  std::shared_ptr<Communicator> parent;
  NCCL_TRY(find_ready(handle, "CommSplit", &parent));
  if (out == nullptr) return fail(ncclInvalidArgument, "CommSplit : newcomm argument is NULL");
  if (mine.color < kNoColor)
    return fail(ncclInvalidArgument, "CommSplit : color must be greater or equal to -1, not %d", mine.color);
  Choices choices{parent->blocking(), ""};
  NCCL_TRY(read_config(config, &choices));
  *out = nullptr;
  // A rank without a colour takes part in the exchange and gets no communicator; it still needs something to be busy with.
  auto made = std::make_shared<Communicator>(choices.blocking, parent->origin());
  made->name = choices.name;
  if (mine.color == kNoColor)
    return add_to_group(Making{made, out, [parent, made, mine] { return split(*parent, nullptr, mine); }});
  CurrentContext current(parent->context());
  NCCL_TRY(made->take_device());
  return start_making(made, out, [parent, made = made.get(), mine] { return split(*parent, made, mine); });
}

uint64_t key_of(const std::vector<int>& excluded) {
  uint64_t key = 14695981039346656037u;
  for (int rank : excluded) key = (key ^ static_cast<uint64_t>(rank)) * 1099511628211u;
  return key;
}

ncclResult_t shrink(Communicator& parent, Communicator& made, const std::vector<int>& excluded) {
  std::vector<int> left;
  for (int i = 0; i < parent.ranks(); ++i)
    if (!std::binary_search(excluded.begin(), excluded.end(), i)) left.push_back(i);
  ncclUniqueId id;
  NCCL_TRY(parent.share_id(left[0], key_of(excluded), &id));
  auto place = std::find(left.begin(), left.end(), parent.rank()) - left.begin();
  made.place(static_cast<int>(place), static_cast<int>(left.size()));
  return made.init(id);
}

ncclResult_t check_excluded(const Communicator& parent, const std::vector<int>& excluded) {
  for (size_t i = 0; i < excluded.size(); ++i) {
    if (excluded[i] < 0 || excluded[i] >= parent.ranks())
      return fail(ncclInvalidArgument, "CommShrink : invalid rank %d in the list of excluded ranks", excluded[i]);
    if (i > 0 && excluded[i] == excluded[i - 1])
      return fail(ncclInvalidArgument, "CommShrink : rank %d is excluded twice", excluded[i]);
    if (excluded[i] == parent.rank())
      return fail(ncclInvalidArgument, "CommShrink : called by rank %d, which is excluded", excluded[i]);
  }
  return ncclSuccess;
}

constexpr int kShrinkAbort = 1;

ncclResult_t find_parent(ncclComm_t handle, int flags, std::shared_ptr<Communicator>* parent) {
  if (flags != 0 && flags != kShrinkAbort) return fail(ncclInvalidArgument, "CommShrink : unknown flags %d", flags);
  if (flags == 0) return find_ready(handle, "CommShrink", parent);
  *parent = find_communicator(handle);
  if (*parent == nullptr)
    return fail(ncclInvalidArgument, "CommShrink : the communicator does not exist or was destroyed");
  return ncclSuccess;
}

ncclResult_t start_shrink(ncclComm_t handle, const int* ranks, int count, ncclComm_t* out, const ncclConfig_t* config,
                          int flags) {
  std::shared_ptr<Communicator> parent;
  NCCL_TRY(find_parent(handle, flags, &parent));
  if (out == nullptr || count < 1 || ranks == nullptr)
    return fail(ncclInvalidArgument, "CommShrink : newcomm or the list of excluded ranks is missing or empty");
  std::vector<int> excluded(ranks, ranks + count);
  std::sort(excluded.begin(), excluded.end());
  NCCL_TRY(check_excluded(*parent, excluded));
  Choices choices{parent->blocking(), ""};
  NCCL_TRY(read_config(config, &choices));
  if (flags == kShrinkAbort) parent->revoke();
  *out = nullptr;
  auto made = std::make_shared<Communicator>(choices.blocking, parent->origin());
  made->name = choices.name;
  CurrentContext current(parent->context());
  NCCL_TRY(made->take_device());
  return start_making(made, out, [parent, made = made.get(), excluded] { return shrink(*parent, *made, excluded); });
}

ncclResult_t find_any(ncclComm_t handle, const char* call, std::shared_ptr<Communicator>* communicator) {
  if (handle == nullptr) return fail(ncclInvalidArgument, "%s : comm argument is NULL", call);
  *communicator = find_communicator(handle);
  if (*communicator != nullptr) return ncclSuccess;
  return fail(ncclInvalidArgument, "%s : the communicator does not exist or was destroyed", call);
}

ncclResult_t ask(ncclComm_t handle, const char* call, int* answer, int (Communicator::*value)() const) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(handle, call, &communicator));
  if (answer == nullptr) return fail(ncclInvalidArgument, "%s : result argument is NULL", call);
  if (communicator->state() == ncclInProgress)
    return fail(ncclInvalidArgument, "%s : the communicator is not ready", call);
  *answer = ((*communicator).*value)();
  return ncclSuccess;
}

// Waits for what is enqueued. A non-blocking communicator does so on a thread of its own.
ncclResult_t finalize(const std::shared_ptr<Communicator>& communicator) {
  communicator->finalized = true;
  if (communicator->blocking()) {
    communicator->finalize();
    return ncclSuccess;
  }
  communicator->set_state(ncclInProgress);
  auto* mark = new std::pair<std::shared_ptr<Communicator>, BusyMark>(communicator, communicator);
  Thread thread;
  bool started = thread.start(
      [](void* argument) -> void* {
        std::unique_ptr<std::pair<std::shared_ptr<Communicator>, BusyMark>> mine(
            static_cast<std::pair<std::shared_ptr<Communicator>, BusyMark>*>(argument));
        mine->first->finalize();
        mine->first->set_state(ncclSuccess);
        return nullptr;
      },
      mark);
  if (!started) {
    delete mark;
    return fail(ncclSystemError, "cannot start the thread that finalizes a non-blocking communicator");
  }
  thread.detach();
  return ncclInProgress;
}

}  // namespace

NCCL_ENTRY(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id), (id)) {
  if (id == nullptr) return fail(ncclInvalidArgument, "GetUniqueId : out argument is NULL");
  return make_unique_id(id);
}

NCCL_ENTRY(ncclResult_t, ncclCommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank),
           (comm, nranks, id, rank)) {
  return init_rank("CommInitRank", comm, nranks, id, rank, nullptr, origin_of(rank, nranks));
}

NCCL_ENTRY(ncclResult_t, ncclCommInitRankConfig,
           (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t* config),
           (comm, nranks, id, rank, config)) {
  return init_rank("CommInitRankConfig", comm, nranks, id, rank, config, origin_of(rank, nranks));
}

NCCL_ENTRY(ncclResult_t, ncclCommInitRankScalable,
           (ncclComm_t * comm, int nranks, int rank, int id_count, ncclUniqueId* ids, ncclConfig_t* config),
           (comm, nranks, rank, id_count, ids, config)) {
  if (ids == nullptr || id_count < 1 || id_count > nranks)
    return note_error(fail(ncclInvalidArgument, "CommInitRankScalable : %d unique ids for %d ranks", id_count, nranks));
  for (int i = 1; rank == 0 && i < id_count; ++i) cancel_unique_id(ids[i]);
  return init_rank("CommInitRankScalable", comm, nranks, ids[0], rank, config, origin_of(rank, nranks));
}

NCCL_ENTRY(ncclResult_t, ncclCommInitAll, (ncclComm_t * comms, int ndev, const int* devices), (comms, ndev, devices)) {
  return init_all(comms, ndev, devices);
}

NCCL_ENTRY(ncclResult_t, ncclCommSplit,
           (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config),
           (comm, color, key, newcomm, config)) {
  return note_error(start_split(comm, {color, key}, newcomm, config));
}

NCCL_ENTRY(ncclResult_t, ncclCommShrink,
           (ncclComm_t comm, int* excluded, int excluded_count, ncclComm_t* newcomm, ncclConfig_t* config, int flags),
           (comm, excluded, excluded_count, newcomm, config, flags)) {
  return note_error(start_shrink(comm, excluded, excluded_count, newcomm, config, flags));
}

NCCL_ENTRY(ncclResult_t, ncclCommFinalize, (ncclComm_t comm), (comm)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_ready(comm, "CommFinalize", &communicator));
  return finalize(communicator);
}

NCCL_ENTRY(ncclResult_t, ncclCommDestroy, (ncclComm_t comm), (comm)) {
  if (comm == nullptr) return ncclSuccess;
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(comm, "CommDestroy", &communicator));
  remove_communicator(comm);
  if (!communicator->finalized) communicator->finalize();
  while (communicator->busy.load() != 0) usleep(100);
  communicator->leave();
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclCommAbort, (ncclComm_t comm), (comm)) {
  if (comm == nullptr) return ncclSuccess;
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(comm, "CommAbort", &communicator));
  remove_communicator(comm);
  communicator->abort();
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclCommRevoke, (ncclComm_t comm, int flags), (comm, flags)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(comm, "CommRevoke", &communicator));
  if (flags != 0) return fail(ncclInvalidArgument, "CommRevoke : unknown flags %d", flags);
  return communicator->revoke();
}

NCCL_ENTRY(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* error), (comm, error)) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(find_any(comm, "CommGetAsyncError", &communicator));
  if (error == nullptr) return fail(ncclInvalidArgument, "CommGetAsyncError : asyncError argument is NULL");
  *error = communicator->async_error();
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclCommCount, (const ncclComm_t comm, int* count), (comm, count)) {
  return ask(comm, "CommCount", count, &Communicator::ranks);
}

NCCL_ENTRY(ncclResult_t, ncclCommCuDevice, (const ncclComm_t comm, int* device), (comm, device)) {
  return ask(comm, "CommCuDevice", device, &Communicator::device);
}

NCCL_ENTRY(ncclResult_t, ncclCommUserRank, (const ncclComm_t comm, int* rank), (comm, rank)) {
  return ask(comm, "CommUserRank", rank, &Communicator::rank);
}
