// See handle.h.
#include "handle.h"

#include <sys/mman.h>

namespace simnode {

namespace {

constexpr size_t kMaxSlots = size_t{1} << 24;  // 1 GiB of address space; a page is real once it is used
constexpr size_t kKeepFreed = 4096;            // so many handles die before a slot is used again

}  // namespace

void* HandleTable::add(Kind kind, void* object) {
  if (slots_ == nullptr) {
    void* region = mmap(nullptr, kMaxSlots * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return nullptr;
    slots_ = static_cast<Slot*>(region);
  }
  size_t index = used_;
  if (freed_.size() > kKeepFreed || (used_ == kMaxSlots && !freed_.empty())) {
    index = freed_.front();
    freed_.pop_front();
  } else if (used_ == kMaxSlots) {
    return nullptr;
  } else {
    ++used_;
  }
  slots_[index] = Slot{kind, object};
  return &slots_[index];
}

void HandleTable::remove(void* handle) {
  auto* slot = static_cast<Slot*>(handle);
  *slot = Slot{Kind::kNone, nullptr};
  freed_.push_back(static_cast<uint32_t>(slot - slots_));
}

}  // namespace simnode
