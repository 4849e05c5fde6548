// What processes share by handles. Memory: a handle names a piece of the exporter's device memfd (process, descriptor,
// offset), and importing maps that piece. Events: the handle names the memfd of a SharedMoment.
#include "cuda/model/context.h"
#include "cuda/model/device.h"
#include "cuda/model/event.h"
#include "cuda/model/memory.h"
#include "cuda/model/node.h"
#include "cuda/model/shared_moment.h"
#include "cuda/model/stream.h"
#include "entry.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstring>
#include <map>
#include <string>

namespace simnode {

namespace {

constexpr uint64_t kMemoryMagic = 0x6d656d69706331, kEventMagic = 0x65766e69706331;

constexpr uintptr_t kIpcPage = 4096;

// The 64 bytes of a CUipcMemHandle and of a CUipcEventHandle. `file` is the memfd's inode, so that a descriptor that was
// closed and given out again is not taken for it.
struct Handle {
  uint64_t magic;
  int32_t pid, fd, device, flags;
  uint64_t file, offset, bytes;
};

static_assert(sizeof(Handle) <= sizeof(CUipcMemHandle) && sizeof(Handle) <= sizeof(CUipcEventHandle));

uint64_t inode_of(int fd) {
  struct stat file;
  return fstat(fd, &file) == 0 ? file.st_ino : 0;
}

// The exporter's memfd; -1: it is not there any more.
int open_memfd(const Handle& handle) {
  std::string path = "/proc/" + std::to_string(handle.pid) + "/fd/" + std::to_string(handle.fd);
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0 && inode_of(fd) != handle.file) {
    close(fd);
    return -1;
  }
  return fd;
}

template <class Shape>
void write_handle(Shape* out, const Handle& handle) {
  memset(out, 0, sizeof *out);
  memcpy(out, &handle, sizeof handle);
}

template <class Shape>
Handle read_handle(const Shape& shape) {
  Handle handle;
  memcpy(&handle, &shape, sizeof handle);
  return handle;
}

struct Import {
  Handle handle;
  int references;
};

std::map<uintptr_t, Import>& imports() {  // by the address they are mapped at
  static auto* const all = new std::map<uintptr_t, Import>;
  return *all;
}

CUresult map_import(const Handle& handle, Context& context, CUdeviceptr* pointer) {
  int fd = open_memfd(handle);
  if (fd < 0) return CUDA_ERROR_INVALID_HANDLE;
  uintptr_t before = handle.offset % kIpcPage;
  void* mapped = mmap(nullptr, handle.bytes + before, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                      static_cast<off_t>(handle.offset - before));
  close(fd);
  if (mapped == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
  Allocation allocation;
  allocation.address = reinterpret_cast<uintptr_t>(mapped) + before;
  allocation.bytes = handle.bytes;
  allocation.kind = MemoryKind::kImported;
  allocation.device = g_node->devices[static_cast<size_t>(handle.device)];
  allocation.context = &context;
  note_allocation(allocation);
  imports()[allocation.address] = {handle, 1};
  *pointer = allocation.address;
  return CUDA_SUCCESS;
}

CUresult open_memory(CUdeviceptr* pointer, const CUipcMemHandle& shape, unsigned flags) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  Handle handle = read_handle(shape);
  bool known = handle.magic == kMemoryMagic && handle.device >= 0 &&
               static_cast<size_t>(handle.device) < g_node->devices.size() && handle.bytes > 0;
  if (pointer == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || !known) return CUDA_ERROR_INVALID_VALUE;
  if (handle.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT;  // as CUDA answers its own handles
  for (auto& [address, import] : imports())
    if (memcmp(&import.handle, &handle, sizeof handle) == 0) {
      ++import.references;
      *pointer = address;
      return CUDA_SUCCESS;
    }
  return map_import(handle, *context, pointer);
}

CUresult open_event(CUevent* event_handle, const CUipcEventHandle& shape) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  Handle handle = read_handle(shape);
  if (event_handle == nullptr || handle.magic != kEventMagic) return CUDA_ERROR_INVALID_VALUE;
  if (handle.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  int fd = open_memfd(handle);
  if (fd < 0) return CUDA_ERROR_INVALID_HANDLE;
  auto* event = new Event;
  event->context = context;
  event->flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  event->shared = SharedMoment::open(fd);
  if (event->shared == nullptr) {
    delete event;
    return CUDA_ERROR_MAP_FAILED;
  }
  *event_handle = static_cast<CUevent>(g_node->handles.add(Kind::kEvent, event));
  return CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuIpcGetMemHandle)(CUipcMemHandle* handle, CUdeviceptr pointer) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  const Allocation* allocation = allocation_holding(pointer);
  if (handle == nullptr || allocation == nullptr || allocation->kind != MemoryKind::kDevice)
    return CUDA_ERROR_INVALID_VALUE;
  Arena& arena = allocation->device->arena;
  write_handle(handle, {kMemoryMagic, getpid(), arena.fd(), allocation->device->ordinal, 0, inode_of(arena.fd()),
                        allocation->address - reinterpret_cast<uintptr_t>(arena.base()), allocation->bytes});
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuIpcOpenMemHandle_v2)(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
  return open_memory(pointer, handle, flags);
}
SIMNODE_ENTRY(cuIpcOpenMemHandle)(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
  return open_memory(pointer, handle, flags);
}

SIMNODE_ENTRY(cuIpcCloseMemHandle)(CUdeviceptr pointer) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  auto found = imports().find(pointer);
  if (found == imports().end()) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second.references > 0) return CUDA_SUCCESS;
  wait_for_all(*context);
  imports().erase(pointer);
  if (Allocation* allocation = allocation_at(pointer)) free_allocation(*allocation);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuIpcGetEventHandle)(CUipcEventHandle* handle, CUevent event_handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  auto* event = g_node->find<Event>(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (handle == nullptr || event->shared == nullptr) return CUDA_ERROR_INVALID_VALUE;  // not made for sharing
  int fd = event->shared->fd;
  write_handle(handle, {kEventMagic, getpid(), fd, 0, 0, inode_of(fd), 0, 0});
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuIpcOpenEventHandle)(CUevent* event, CUipcEventHandle handle) { return open_event(event, handle); }

}  // namespace simnode
