// See memory.h.
#include "memory.h"

#include "context.h"
#include "device.h"
#include "node.h"
#include "node/say.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace simnode {

namespace {

constexpr size_t kGranule = 512;
constexpr size_t kPage = 4096;

std::map<uintptr_t, Allocation>& allocations() {
  static auto* const all = new std::map<uintptr_t, Allocation>;  // outlives exit handlers
  return *all;
}

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

bool Arena::open(size_t bytes) {
  if (base_ != nullptr) return true;
  fd_ = memfd_create("simnode-device", MFD_CLOEXEC);
  if (fd_ < 0) return false;
  // An address space limit (RLIMIT_AS) makes the device smaller rather than useless.
  for (size_t size = bytes; size >= (size_t{64} << 20); size /= 2) {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) continue;
    void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
    if (mapped == MAP_FAILED) continue;
    if (size != bytes)
      say("a device of %zu MiB does not fit into the address space (%s); it has %zu MiB. Raise ulimit -v or lower "
          "SIMNODE_MEMORY_MB.",
          bytes >> 20, strerror(errno), size >> 20);
    base_ = static_cast<char*>(mapped);
    total_bytes_ = size;
    free_[0] = size;
    return true;
  }
  ::close(fd_);
  fd_ = -1;
  return false;
}

int64_t Arena::take(size_t bytes, size_t alignment) {
  bytes = rounded(bytes, kGranule);
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    int64_t offset = static_cast<int64_t>(rounded(static_cast<size_t>(block->first), alignment));
    size_t skipped = static_cast<size_t>(offset - block->first);
    if (block->second < skipped || block->second - skipped < bytes) continue;
    size_t rest = block->second - skipped - bytes;
    int64_t first = block->first;
    free_.erase(block);
    if (skipped != 0) free_[first] = skipped;
    if (rest != 0) free_[offset + static_cast<int64_t>(bytes)] = rest;
    used_bytes_ += bytes;
    return offset;
  }
  return -1;
}

void Arena::give_back(int64_t offset, size_t bytes) {
  bytes = rounded(bytes, kGranule);
  used_bytes_ -= bytes;
  forget_content(offset, bytes);
  auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    auto before = std::prev(after);
    if (before->first + static_cast<int64_t>(before->second) == offset) {
      offset = before->first;
      bytes += before->second;
      free_.erase(before);
    }
  }
  if (after != free_.end() && offset + static_cast<int64_t>(bytes) == after->first) {
    bytes += after->second;
    free_.erase(after);
  }
  free_[offset] = bytes;
}

void Arena::forget_content(int64_t offset, size_t bytes) {
  int64_t first = static_cast<int64_t>(rounded(static_cast<size_t>(offset), kPage));
  int64_t last = (offset + static_cast<int64_t>(bytes)) / static_cast<int64_t>(kPage) * static_cast<int64_t>(kPage);
  if (last > first) fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first, last - first);
}

void Arena::clear(int64_t offset, size_t bytes) {
  if (bytes < 2 * kPage) {
    memset(base_ + offset, 0, bytes);
    return;
  }
  memset(base_ + offset, 0, kPage);
  memset(base_ + offset + bytes - kPage, 0, kPage);
  forget_content(offset, bytes);
}

bool on_device(const Allocation& allocation) {
  return allocation.kind == MemoryKind::kDevice || allocation.kind == MemoryKind::kManaged ||
         allocation.kind == MemoryKind::kMapped || allocation.kind == MemoryKind::kImported;
}

const Allocation& note_allocation(Allocation allocation) {
  static uint64_t next_id = 1;
  allocation.id = next_id++;
  return allocations()[allocation.address] = allocation;
}

void forget_allocation(uintptr_t address) { allocations().erase(address); }

CUresult allocate_on(Device& device, Context* context, size_t bytes, size_t alignment, MemoryKind kind,
                     CUdeviceptr* pointer) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!device.arena.open(static_cast<size_t>(g_node->settings.memory_bytes))) return CUDA_ERROR_OUT_OF_MEMORY;
  if (bytes > device.arena.total_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
  int64_t offset = device.arena.take(bytes, alignment);
  if (offset < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation allocation;
  allocation.address = reinterpret_cast<uintptr_t>(device.arena.base()) + static_cast<uintptr_t>(offset);
  allocation.bytes = bytes;
  allocation.kind = kind;
  allocation.device = &device;
  allocation.context = context;
  note_allocation(allocation);
  device.usage->memory_bytes.store(device.arena.used_bytes(), std::memory_order_relaxed);
  *pointer = allocation.address;
  return CUDA_SUCCESS;
}

Allocation* allocation_at(uintptr_t address) {
  auto found = allocations().find(address);
  return found == allocations().end() ? nullptr : &found->second;
}

Allocation* allocation_holding(uintptr_t address) {
  auto found = allocations().upper_bound(address);
  if (found == allocations().begin()) return nullptr;
  --found;
  return address - found->first < found->second.bytes ? &found->second : nullptr;
}

void free_allocation(Allocation& allocation) {
  uintptr_t address = allocation.address;
  switch (allocation.kind) {
    case MemoryKind::kDevice:
    case MemoryKind::kManaged: {
      Arena& arena = allocation.device->arena;
      arena.give_back(static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(arena.base())), allocation.bytes);
      allocation.device->usage->memory_bytes.store(arena.used_bytes(), std::memory_order_relaxed);
      break;
    }
    case MemoryKind::kPinned:
      munmap(reinterpret_cast<void*>(address), allocation.bytes);
      break;
    case MemoryKind::kImported: {
      uintptr_t first = address / kPage * kPage;
      munmap(reinterpret_cast<void*>(first), address + allocation.bytes - first);
      break;
    }
    case MemoryKind::kRegistered:
    case MemoryKind::kMapped:
      break;
  }
  forget_allocation(address);
}

void release_memory_of(Context& context) {
  auto& all = allocations();
  for (auto next = all.begin(); next != all.end();) {
    auto found = next++;
    if (found->second.context == &context) free_allocation(found->second);
  }
}

}  // namespace simnode
