// kind_index.h: the tokens of a thread by their kind: numbers instead of hashes, and where each kind stands.
//
// Room pure/. Plain arrays in memory of the caller, linear in the tokens.
#pragma once

#include "step_token.h"

namespace hostprobe {

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

struct KindIndex {
  std::size_t count = 0;           // of tokens
  std::uint32_t kinds = 0;         // how many there are
  std::uint32_t* kind = nullptr;   // of each token
  std::uint32_t* begin = nullptr;  // kinds + 1: where a kind's places begin among `places`
  std::uint32_t* places = nullptr;

  std::uint32_t places_of(std::uint32_t one) const { return begin[one + 1] - begin[one]; }
  const std::uint32_t* of(std::uint32_t one) const { return places + begin[one]; }

  // `once`: several of a kind in succession are one place.
  bool make(const Token* tokens, std::size_t size, bool with_shape, bool once, Workspace& memory) {
    count = size;
    kind = memory.take<std::uint32_t>(size);
    begin = memory.take<std::uint32_t>(size + 2);
    places = memory.take<std::uint32_t>(size);
    return kind != nullptr && begin != nullptr && places != nullptr && number(tokens, with_shape, memory) &&
           (place(once), true);
  }

 private:
  bool number(const Token* tokens, bool with_shape, Workspace& memory) {
    const std::size_t slots = slots_for(count);
    auto* slot = memory.take<std::uint32_t>(slots);
    auto* hashes = memory.take<std::uint64_t>(count);
    if (slot == nullptr || hashes == nullptr) return false;
    set_all(slot, slots, std::uint32_t{0});
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hash = with_shape ? tokens[i].shape : tokens[i].work;
      std::size_t at = mixed(hash) & (slots - 1);
      while (slot[at] != 0 && hashes[slot[at] - 1] != hash) at = (at + 1) & (slots - 1);
      if (slot[at] == 0) {
        hashes[kinds++] = hash;
        slot[at] = kinds;
      }
      kind[i] = slot[at] - 1;
    }
    return true;
  }

  bool is_place(std::size_t i, bool once) const { return !once || i == 0 || kind[i - 1] != kind[i]; }

  // First how many, then where the next of each goes.
  void place(bool once) {
    set_all(begin, kinds + std::size_t{2}, std::uint32_t{0});
    for (std::size_t i = 0; i < count; ++i) begin[kind[i] + 2] += is_place(i, once);
    for (std::uint32_t k = 2; k < kinds + 2; ++k) begin[k] += begin[k - 1];
    for (std::size_t i = 0; i < count; ++i)
      if (is_place(i, once)) places[begin[kind[i] + 1]++] = static_cast<std::uint32_t>(i);
  }
};

}  // namespace hostprobe
