// memory_budget.h: how much memory the reading of runs may take: one limit for all of a process, the command's and Python's.
//
// Room 3. Traces are read by several threads at a time. What is held only to be quicker (blocks that would be expanded again
// each time they are walked, activities that could be read again) is held while there is room. The command counts its larger
// blocks of memory in it, too (cli/memory.cpp). The answers do not depend on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace hostprobe::analysis {

class MemoryBudget {
 public:
  explicit constexpr MemoryBudget(std::size_t bytes) : bytes_(signed_of(bytes)), left_(signed_of(bytes)) {}

  // What was taken before counts in the new limit as well.
  void set_limit(std::size_t bytes) {
    left_.fetch_add(signed_of(bytes) - bytes_, std::memory_order_relaxed);
    bytes_ = signed_of(bytes);
  }
  bool take(std::size_t bytes) {
    const bool has = take_above(bytes, 0);
    if (!has) refused_.store(true, std::memory_order_relaxed);
    return has;
  }
  // For what can be done without: half of the budget is left for what cannot.
  bool take_spare(std::size_t bytes) { return take_above(bytes, bytes_ / 2); }
  // For what there is no room for, and which is needed all the same.
  void take_anyway(std::size_t bytes) { left_.fetch_sub(signed_of(bytes), std::memory_order_relaxed); }
  void give(std::size_t bytes) { left_.fetch_add(signed_of(bytes), std::memory_order_relaxed); }
  std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }  // when nothing is taken
  // It is not used up, and was not too small for anything that take() asked for.
  bool has_room() const {
    return !refused_.load(std::memory_order_relaxed) && left_.load(std::memory_order_relaxed) > 0;
  }

 private:
  static constexpr std::ptrdiff_t signed_of(std::size_t bytes) { return static_cast<std::ptrdiff_t>(bytes); }
  bool take_above(std::size_t bytes, std::ptrdiff_t least) {
    if (left_.fetch_sub(signed_of(bytes), std::memory_order_relaxed) - signed_of(bytes) >= least) return true;
    give(bytes);
    return false;
  }

  std::ptrdiff_t bytes_;
  std::atomic<std::ptrdiff_t> left_;
  std::atomic<bool> refused_ = false;
};

inline constexpr unsigned kMemoryMb = 1024;  // of a process, unless it is told otherwise

// What all reading in this process takes from.
inline constinit MemoryBudget g_memory(std::size_t{kMemoryMb} << 20);

// Bytes that were taken from a budget and go back to it. The budget must outlive them.
class HeldBytes {
 public:
  // They were taken already. Of malloc(), because the command's operator new would count them once more.
  HeldBytes(MemoryBudget& budget, std::size_t count)
      : budget_(&budget), bytes_(static_cast<std::uint8_t*>(std::malloc(count))), count_(count) {
    if (bytes_ == nullptr) throw std::bad_alloc();
  }
  HeldBytes(HeldBytes&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::move(other.bytes_)), count_(other.count_) {}
  HeldBytes& operator=(HeldBytes&&) = delete;
  ~HeldBytes() {
    if (budget_ != nullptr) budget_->give(count_);
  }
  std::uint8_t* get() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::uint8_t* bytes) const { std::free(bytes); }
  };
  MemoryBudget* budget_;
  std::unique_ptr<std::uint8_t, Free> bytes_;
  std::size_t count_;
};

}  // namespace hostprobe::analysis
