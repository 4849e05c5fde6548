// See reduce.h.
#include "reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace simnode::nccl {

namespace {

constexpr size_t kBlock = 512;  // elements accumulated at a time, so that they stay in the first-level cache

// A small float: one sign bit, kExponent bits, kMantissa bits. kInfinite: the largest exponent means infinity and NaN;
// otherwise (e4m3) only all ones is NaN and larger values saturate to NaN as in NVIDIA's own conversions without "satfinite".
template <class Bits, int kExponent, int kMantissa, bool kInfinite>
struct SmallFloat {
  using Stored = Bits;
  using Sum = float;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr uint32_t kTop = (1u << kExponent) - 1;
  static constexpr uint32_t kMask = (1u << kMantissa) - 1;

  static float load(Bits bits) {
    uint32_t sign = static_cast<uint32_t>(bits) >> (kExponent + kMantissa) << 31;
    uint32_t exponent = static_cast<uint32_t>(bits) >> kMantissa & kTop;
    uint32_t mantissa = static_cast<uint32_t>(bits) & kMask;
    if (exponent == 0) {
      float value = std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissa);
      return sign != 0 ? -value : value;
    }
    bool special = kInfinite ? exponent == kTop : exponent == kTop && mantissa == kMask;
    if (special) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << (23 - kMantissa));
    return std::bit_cast<float>(sign | (exponent + 127 - kBias) << 23 | mantissa << (23 - kMantissa));
  }

  static Bits store(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    auto sign = static_cast<uint32_t>(bits >> 31 << (kExponent + kMantissa));
    uint32_t rest = bits & 0x7fffffffu;
    constexpr uint32_t kNan = kTop << kMantissa | kMask;
    constexpr uint32_t kTooLarge = kInfinite ? kTop << kMantissa : kNan;
    if (rest > 0x7f800000u) return static_cast<Bits>(sign | kNan);
    if (rest == 0x7f800000u) return static_cast<Bits>(sign | kTooLarge);
    int exponent = static_cast<int>(rest >> 23) - 127 + kBias;
    uint32_t mantissa = (rest & 0x7fffffu) | (rest >> 23 != 0 ? 0x800000u : 0);
    int shift = 23 - kMantissa + (exponent < 1 ? 1 - exponent : 0);
    if (shift > 24) return static_cast<Bits>(sign);
    uint32_t kept = mantissa >> shift, lost = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    if (lost > half || (lost == half && (kept & 1) != 0)) ++kept;
    // A carry out of the mantissa runs into the exponent, which is exactly right.
    uint32_t packed = exponent < 1 ? kept : (static_cast<uint32_t>(exponent - 1) << kMantissa) + kept;
    return static_cast<Bits>(sign | std::min(packed, kTooLarge));
  }
};

// bfloat16 is the upper half of a float.
struct Bfloat16 {
  using Stored = uint16_t;
  using Sum = float;
  static float load(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static uint16_t store(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

template <class Number>
struct Plain {
  using Stored = Number;
  using Sum = Number;
  static Number load(Number value) { return value; }
  static Number store(Number value) { return value; }
};

template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}

template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class T>
T larger(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return std::max(a, b);
  else
    return std::fmax(a, b);
}

template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return std::min(a, b);
  else
    return std::fmin(a, b);
}

template <class Type, class Combine>
void combine_all(typename Type::Sum* totals, const void* const* from, int sources, size_t first, size_t count,
                 Combine combine) {
  using Stored = typename Type::Stored;
  for (int source = 0; source < sources; ++source) {
    auto* values = static_cast<const Stored*>(from[source]) + first;
    if (source == 0)
      for (size_t i = 0; i < count; ++i) totals[i] = Type::load(values[i]);
    else
      for (size_t i = 0; i < count; ++i) totals[i] = combine(totals[i], Type::load(values[i]));
  }
}

template <class Type>
void reduce_as(Op op, void* to, const void* const* from, int sources, size_t count) {
  using Sum = typename Type::Sum;
  Sum totals[kBlock];
  for (size_t first = 0; first < count; first += kBlock) {
    size_t now = std::min(kBlock, count - first);
    switch (op) {
      case Op::kProd:
        combine_all<Type>(totals, from, sources, first, now, multiply<Sum>);
        break;
      case Op::kMax:
        combine_all<Type>(totals, from, sources, first, now, larger<Sum>);
        break;
      case Op::kMin:
        combine_all<Type>(totals, from, sources, first, now, smaller<Sum>);
        break;
      default:
        combine_all<Type>(totals, from, sources, first, now, add<Sum>);
        break;
    }
    if (op == Op::kAvg)
      for (size_t i = 0; i < now; ++i) totals[i] = static_cast<Sum>(totals[i] / static_cast<Sum>(sources));
    auto* out = static_cast<typename Type::Stored*>(to) + first;
    for (size_t i = 0; i < now; ++i) out[i] = Type::store(totals[i]);
  }
}

template <class Type>
void multiply_as(void* to, const void* from, const void* scalar, size_t count) {
  using Stored = typename Type::Stored;
  Stored factor;
  memcpy(&factor, scalar, sizeof factor);
  auto* in = static_cast<const Stored*>(from);
  auto* out = static_cast<Stored*>(to);
  for (size_t i = 0; i < count; ++i) out[i] = Type::store(multiply(Type::load(in[i]), Type::load(factor)));
}

// Calls `act` with the type's arithmetic.
template <class Act>
void with_type(ncclDataType_t type, Act act) {
  switch (type) {
    case ncclInt8:
      return act(Plain<int8_t>{});
    case ncclUint8:
      return act(Plain<uint8_t>{});
    case ncclInt32:
      return act(Plain<int32_t>{});
    case ncclUint32:
      return act(Plain<uint32_t>{});
    case ncclInt64:
      return act(Plain<int64_t>{});
    case ncclUint64:
      return act(Plain<uint64_t>{});
    case ncclFloat16:
      return act(SmallFloat<uint16_t, 5, 10, true>{});
    case ncclFloat32:
      return act(Plain<float>{});
    case ncclFloat64:
      return act(Plain<double>{});
    case ncclBfloat16:
      return act(Bfloat16{});
    case ncclFloat8e4m3:
      return act(SmallFloat<uint8_t, 4, 3, false>{});
    case ncclFloat8e5m2:
      return act(SmallFloat<uint8_t, 5, 2, true>{});
    case ncclNumTypes:
      return;
  }
}

}  // namespace

size_t bytes_of(ncclDataType_t type) {
  size_t bytes = 0;
  with_type(type, [&](auto arithmetic) { bytes = sizeof(typename decltype(arithmetic)::Stored); });
  return bytes;
}

void reduce(Op op, ncclDataType_t type, void* to, const void* const* from, int sources, size_t count) {
  with_type(type, [&](auto arithmetic) { reduce_as<decltype(arithmetic)>(op, to, from, sources, count); });
}

void pre_multiply(ncclDataType_t type, void* to, const void* from, const void* scalar, size_t count) {
  with_type(type, [&](auto arithmetic) { multiply_as<decltype(arithmetic)>(to, from, scalar, count); });
}

}  // namespace simnode::nccl
