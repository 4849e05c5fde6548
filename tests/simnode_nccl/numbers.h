// The data types as a test sees them: encoded and decoded independently of the library, by searching all values where a
// type has few, and what a reduction of them must give.
#pragma once
#include "nccl_abi.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace numbers {

struct Type {
  ncclDataType_t type;
  const char* name;
  size_t bytes;
  int exponent, mantissa;  // of small floats; 0: not one
  bool is_float, is_signed;
};

inline const std::vector<Type>& all_types() {
  static const std::vector<Type> all = {{ncclInt8, "int8", 1, 0, 0, false, true},
                                        {ncclUint8, "uint8", 1, 0, 0, false, false},
                                        {ncclInt32, "int32", 4, 0, 0, false, true},
                                        {ncclUint32, "uint32", 4, 0, 0, false, false},
                                        {ncclInt64, "int64", 8, 0, 0, false, true},
                                        {ncclUint64, "uint64", 8, 0, 0, false, false},
                                        {ncclFloat16, "float16", 2, 5, 10, true, true},
                                        {ncclFloat32, "float32", 4, 0, 0, true, true},
                                        {ncclFloat64, "float64", 8, 0, 0, true, true},
                                        {ncclBfloat16, "bfloat16", 2, 8, 7, true, true},
                                        {ncclFloat8e4m3, "float8e4m3", 1, 4, 3, true, true},
                                        {ncclFloat8e5m2, "float8e5m2", 1, 5, 2, true, true}};
  return all;
}

inline double decode_small(const Type& type, uint32_t bits) {
  int bias = (1 << (type.exponent - 1)) - 1;
  uint32_t mantissa = bits & ((1u << type.mantissa) - 1);
  auto exponent = static_cast<int>(bits >> type.mantissa & ((1u << type.exponent) - 1));
  double sign = bits >> (type.exponent + type.mantissa) != 0 ? -1 : 1;
  bool top = exponent == (1 << type.exponent) - 1;
  bool only_nan = type.type == ncclFloat8e4m3;
  if (top && only_nan && mantissa == 7) return std::numeric_limits<double>::quiet_NaN();
  if (top && !only_nan) return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  double fraction = std::ldexp(static_cast<double>(mantissa), -type.mantissa);
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

inline double get(const Type& type, const void* from, size_t i) {
  auto* at = static_cast<const char*>(from) + i * type.bytes;
  auto read = [&](auto value) {
    memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
  };
  if (type.exponent != 0) {
    uint32_t bits = 0;
    memcpy(&bits, at, type.bytes);
    return decode_small(type, bits);
  }
  switch (type.type) {
    case ncclInt8:
      return read(int8_t{});
    case ncclUint8:
      return read(uint8_t{});
    case ncclInt32:
      return read(int32_t{});
    case ncclUint32:
      return read(uint32_t{});
    case ncclInt64:
      return read(int64_t{});
    case ncclUint64:
      return read(uint64_t{});
    case ncclFloat32:
      return read(float{});
    default:
      return read(double{});
  }
}

// By looking through all values, once for each.
inline uint32_t encode_small(const Type& type, int value) {
  static std::map<std::pair<int, int>, uint32_t> known;
  auto [found, fresh] = known.try_emplace({type.type, value}, 0);
  if (fresh)
    while (decode_small(type, found->second) != value) ++found->second;
  return found->second;
}

// Small whole numbers only, which every type holds exactly.
inline void set(const Type& type, void* to, size_t i, int value) {
  auto* at = static_cast<char*>(to) + i * type.bytes;
  auto write = [&](auto number) { memcpy(at, &number, sizeof number); };
  if (type.exponent != 0) {
    uint32_t bits = encode_small(type, value);
    memcpy(at, &bits, type.bytes);
    return;
  }
  switch (type.type) {
    case ncclInt8:
      return write(static_cast<int8_t>(value));
    case ncclUint8:
      return write(static_cast<uint8_t>(value));
    case ncclInt32:
      return write(int32_t{value});
    case ncclUint32:
      return write(static_cast<uint32_t>(value));
    case ncclInt64:
      return write(static_cast<int64_t>(value));
    case ncclUint64:
      return write(static_cast<uint64_t>(value));
    case ncclFloat32:
      return write(static_cast<float>(value));
    default:
      return write(static_cast<double>(value));
  }
}

// What is left of an exact result in an integer type.
inline double wrapped(const Type& type, double exact) {
  if (type.is_float) return exact;
  exact = std::trunc(exact);
  if (type.bytes == 8) return exact;
  double size = std::ldexp(1, static_cast<int>(8 * type.bytes));
  double rest = exact - size * std::floor(exact / size);
  return type.is_signed && rest >= size / 2 ? rest - size : rest;
}

// Half a unit in the last place, relatively.
inline double tolerance(const Type& type) {
  if (type.exponent != 0) return std::ldexp(1, -type.mantissa - 1);
  if (type.type == ncclFloat32) return 1e-6;
  return type.is_float ? 1e-14 : 0;
}

inline bool close(const Type& type, double value, double expected) {
  return std::abs(value - expected) <= tolerance(type) * std::abs(expected);
}

struct Operation {
  ncclRedOp_t op;
  const char* name;
};

inline const std::vector<Operation>& all_operations() {
  static const std::vector<Operation> all = {
      {ncclSum, "sum"}, {ncclProd, "prod"}, {ncclMax, "max"}, {ncclMin, "min"}, {ncclAvg, "avg"}};
  return all;
}

// An element as rank `rank` gives it.
inline int input(ncclRedOp_t op, size_t i, int rank) {
  size_t mixed = i * 7 + static_cast<size_t>(rank) * 5 + i / 13;
  return op == ncclProd ? static_cast<int>(mixed % 2) + 1 : static_cast<int>(mixed % 5);
}

inline double reduced(const Type& type, ncclRedOp_t op, size_t i, int ranks) {
  double result = input(op, i, 0);
  for (int rank = 1; rank < ranks; ++rank) {
    double next = input(op, i, rank);
    if (op == ncclProd)
      result *= next;
    else if (op == ncclMax)
      result = std::max(result, next);
    else if (op == ncclMin)
      result = std::min(result, next);
    else
      result += next;
  }
  return wrapped(type, op == ncclAvg ? result / ranks : result);
}

}  // namespace numbers
