// kind_index.h: the tokens of a thread by their kind: numbers instead of hashes, and where each kind stands.
//
// Room pure/. Plain arrays in memory of the caller, linear in the tokens.
#pragma once

#include "step_token.h"

namespace hostprobe {

constexpr bool is_launch(StepToken type) { return type == StepToken::kLaunch || type == StepToken::kGraph; }
constexpr bool is_compute(StepToken type) { return is_launch(type) || type == StepToken::kCollective; }
constexpr bool is_sync(StepToken type) { return type == StepToken::kSync || type == StepToken::kSyncInput; }
constexpr bool is_read(StepToken type) { return is_sync(type) || type == StepToken::kEventWait; }
constexpr bool is_copy(StepToken type) { return type == StepToken::kCopy || type == StepToken::kInput; }
constexpr bool feeds(StepToken type) { return type == StepToken::kInput || type == StepToken::kSyncInput; }

// Memory of the caller, handed out in pieces; all of it is free again with the next one.
class Workspace {
 public:
  Workspace(void* memory, std::size_t bytes) : next_(static_cast<unsigned char*>(memory)), left_(bytes) {}

  // Not set to anything. Null: there is not enough.
  template <class Item>
  Item* take(std::size_t count) {
    const std::size_t bytes = (count * sizeof(Item) + 15) & ~std::size_t{15};
    if (bytes > left_) return nullptr;
    auto* piece = reinterpret_cast<Item*>(next_);
    next_ += bytes;
    left_ -= bytes;
    return piece;
  }

 private:
  unsigned char* next_;
  std::size_t left_;
};

// A power of two, at least twice `count`.
constexpr std::size_t slots_for(std::size_t count) {
  std::size_t slots = 4;
  while (slots < 2 * count) slots *= 2;
  return slots;
}

template <class Item>
void set_all(Item* items, std::size_t count, Item value) {
  for (std::size_t i = 0; i < count; ++i) items[i] = value;
}

// Room to number things in; what is numbered next may have the same.
struct NumberRoom {
  std::uint32_t* slots = nullptr;  // slots_for(count)
  std::uint64_t* hashes = nullptr;

  bool take(std::size_t count, Workspace& memory) {
    slots = memory.take<std::uint32_t>(slots_for(count));
    hashes = memory.take<std::uint64_t>(count);
    return slots != nullptr && hashes != nullptr;
  }
};

struct KindIndex {
  std::size_t count = 0;           // of tokens
  std::uint32_t kinds = 0;         // how many there are
  std::uint32_t* kind = nullptr;   // of each token
  std::uint32_t* begin = nullptr;  // kinds + 1: where a kind's places begin among `places`
  std::uint32_t* places = nullptr;

  std::uint32_t places_of(std::uint32_t one) const { return begin[one + 1] - begin[one]; }
  const std::uint32_t* of(std::uint32_t one) const { return places + begin[one]; }

  // By what `hash_at` gives for each; only those that `is_place` has a place.
  template <class HashAt, class IsPlace>
  bool make(std::size_t size, HashAt hash_at, IsPlace is_place, NumberRoom& room, Workspace& memory) {
    count = size;
    kind = memory.take<std::uint32_t>(size);
    begin = memory.take<std::uint32_t>(size + 2);
    places = memory.take<std::uint32_t>(size);
    if (kind == nullptr || begin == nullptr || places == nullptr) return false;
    number(hash_at, room);
    place(is_place);
    return true;
  }

  // Tokens, each with a place.
  bool make(const Token* tokens, std::size_t size, bool with_shape, NumberRoom& room, Workspace& memory) {
    const auto hash_at = [=](std::size_t i) { return with_shape ? tokens[i].shape : tokens[i].work; };
    return make(
        size, hash_at, [](std::size_t) { return true; }, room, memory);
  }

 private:
  template <class HashAt>
  void number(HashAt hash_at, NumberRoom& room) {
    const std::size_t slots = slots_for(count);
    set_all(room.slots, slots, std::uint32_t{0});
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hash = hash_at(i);
      std::size_t at = mixed(hash) & (slots - 1);
      while (room.slots[at] != 0 && room.hashes[room.slots[at] - 1] != hash) at = (at + 1) & (slots - 1);
      if (room.slots[at] == 0) {
        room.hashes[kinds++] = hash;
        room.slots[at] = kinds;
      }
      kind[i] = room.slots[at] - 1;
    }
  }

  // First how many, then where the next of each goes.
  template <class IsPlace>
  void place(IsPlace is_place) {
    set_all(begin, kinds + std::size_t{2}, std::uint32_t{0});
    for (std::size_t i = 0; i < count; ++i) begin[kind[i] + 2] += is_place(i);
    for (std::uint32_t k = 2; k < kinds + 2; ++k) begin[k] += begin[k - 1];
    for (std::size_t i = 0; i < count; ++i)
      if (is_place(i)) places[begin[kind[i] + 1]++] = static_cast<std::uint32_t>(i);
  }
};

}  // namespace hostprobe
