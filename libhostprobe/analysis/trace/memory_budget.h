// memory_budget.h: how much of what a run would have to expand again is held in memory meanwhile.
//
// Room 3. One for all traces of a run, which are read by several threads at a time. Where it is used up, blocks are expanded
// again each time they are walked: slower, and the same answers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace hostprobe::analysis {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t bytes) : left_(static_cast<std::ptrdiff_t>(bytes)) {}

  bool take(std::size_t bytes) {
    if (left_.fetch_sub(static_cast<std::ptrdiff_t>(bytes), std::memory_order_relaxed) >=
        static_cast<std::ptrdiff_t>(bytes))
      return true;
    give(bytes);
    refused_.store(true, std::memory_order_relaxed);
    return false;
  }
  // It was too small for something.
  bool has_refused() const { return refused_.load(std::memory_order_relaxed); }
  void give(std::size_t bytes) { left_.fetch_add(static_cast<std::ptrdiff_t>(bytes), std::memory_order_relaxed); }

 private:
  std::atomic<std::ptrdiff_t> left_;
  std::atomic<bool> refused_ = false;
};

// Bytes that were taken from a budget and go back to it. The budget must outlive them.
class HeldBytes {
 public:
  HeldBytes(MemoryBudget& budget, std::unique_ptr<std::uint8_t[]> bytes, std::size_t count)
      : budget_(&budget), bytes_(std::move(bytes)), count_(count) {}
  HeldBytes(HeldBytes&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::move(other.bytes_)), count_(other.count_) {}
  HeldBytes& operator=(HeldBytes&&) = delete;
  ~HeldBytes() {
    if (budget_ != nullptr) budget_->give(count_);
  }
  const std::uint8_t* get() const { return bytes_.get(); }

 private:
  MemoryBudget* budget_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t count_;
};

}  // namespace hostprobe::analysis
