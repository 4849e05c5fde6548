// Memory of the node. A device's memory is one sparse memfd mapped into the process, so device pointers are addresses
// that host functions can use, untouched gigabytes cost nothing, and another process can be given a piece (IPC handles).
#pragma once
#include <cuda.h>
#include <cstddef>
#include <cstdint>
#include <map>

namespace simnode {

struct Context;
struct Device;

// First-fit allocator over one device's memory. No size classes: a simulated device is asked for few and large blocks.
class Arena {
 public:
  bool open(size_t bytes);  // idempotent; false when neither the file nor the address space can be had
  // Offset of `bytes` (rounded up to 512) aligned as asked, or -1.
  int64_t take(size_t bytes, size_t alignment);
  void give_back(int64_t offset, size_t bytes);
  void forget_content(int64_t offset, size_t bytes);  // whole pages go back to the machine and read as zero
  void clear(int64_t offset, size_t bytes);           // all of it reads as zero, without touching whole pages
  char* base() const { return base_; }
  int fd() const { return fd_; }
  size_t used_bytes() const { return used_bytes_; }
  size_t total_bytes() const { return total_bytes_; }

 private:
  std::map<int64_t, size_t> free_;  // offset, bytes
  char* base_ = nullptr;
  int fd_ = -1;
  size_t total_bytes_ = 0;
  size_t used_bytes_ = 0;
};

enum class MemoryKind { kDevice, kManaged, kPinned, kRegistered, kMapped, kImported };

struct Allocation {
  uintptr_t address = 0;
  size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  Device* device = nullptr;
  Context* context = nullptr;  // null for memory of a pool, which belongs to the device
  uint64_t id = 0;
  unsigned flags = 0;  // cuMemHostAlloc, cuMemHostRegister
  bool sync_memops = false;
  CUmemoryPool pool = nullptr;
};

bool on_device(const Allocation& allocation);

// All with the node's lock held.
CUresult allocate_on(Device& device, Context* context, size_t bytes, size_t alignment, MemoryKind kind,
                     CUdeviceptr* pointer);
const Allocation& note_allocation(Allocation allocation);
void forget_allocation(uintptr_t address);
Allocation* allocation_at(uintptr_t address);       // one that starts here
Allocation* allocation_holding(uintptr_t address);  // one that contains this address
void free_allocation(Allocation& allocation);
void release_memory_of(Context& context);

}  // namespace simnode
