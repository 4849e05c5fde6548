// Handles that a program holds (CUstream, CUevent, …) are addresses of slots in one reserved region, so any value can be
// checked without touching memory that may not exist: a wrong, destroyed or foreign handle is an error code, never a crash.
// A freed slot goes to the end of a queue, so that a stale handle stays recognisable for long.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>

namespace simnode {

enum class Kind : uint32_t {
  kNone,
  kContext,
  kStream,
  kEvent,
  kModule,
  kFunction,
  kLibrary,
  kKernel,
  kLink,
  kGraph,
  kNode,
  kExec,
  kPool,
  kPhysical,
  kUserObject,
  kTexture
};

class HandleTable {
 public:
  // nullptr when the address space is exhausted.
  void* add(Kind kind, void* object);
  void remove(void* handle);

  void* find(const void* handle, Kind kind) const {
    auto address = reinterpret_cast<uintptr_t>(handle);
    auto first = reinterpret_cast<uintptr_t>(slots_);
    if (address < first || address >= first + used_ * sizeof(Slot) || address % sizeof(Slot) != 0) return nullptr;
    const Slot& slot = slots_[(address - first) / sizeof(Slot)];
    return slot.kind == kind ? slot.object : nullptr;
  }

 private:
  struct alignas(64) Slot {
    Kind kind;
    void* object;
  };
  Slot* slots_ = nullptr;
  size_t used_ = 0;
  std::deque<uint32_t> freed_;
};

}  // namespace simnode
