// collective_names.cpp: see collective_names.h.
#include "collective_names.h"

#include <iterator>

#include "format/record.h"

namespace hostprobe::analysis {
namespace {

struct Row {
  std::string_view name;
  std::string_view operation;
};
// After what is common to their variants is taken off.
constexpr Row kOperations[] = {
    {"allreduce", "AllReduce"}, {"allgather", "AllGather"}, {"reducescatter", "ReduceScatter"},
    {"broadcast", "Broadcast"}, {"reduce", "Reduce"},       {"alltoall", "AlltoAll"},
    {"alltoallv", "AlltoAll"},  {"gather", "Gather"},       {"scatter", "Scatter"},
    {"send", "Send"},           {"isend", "Send"},          {"recv", "Recv"},
    {"irecv", "Recv"},          {"recvanysource", "Recv"},  {"receive", "Recv"},
    {"barrier", "Barrier"},
};

struct TypeRow {
  std::string_view name;
  int type;
};
constexpr TypeRow kTypes[] = {
    {"char", 0},   {"signed char", 0}, {"int8", 0},     {"byte", 1},           {"unsigned char", 1}, {"uint8", 1},
    {"bool", 1},   {"int", 2},         {"int32", 2},    {"uint32", 3},         {"long", 4},          {"long int", 4},
    {"int64", 4},  {"uint64", 5},      {"half", 6},     {"float16", 6},        {"float", 7},         {"float32", 7},
    {"double", 8}, {"float64", 8},     {"bfloat16", 9}, {"float8_e4m3fn", 10}, {"float8_e5m2", 11},  {"fp16", 6},
    {"fp32", 7},   {"fp64", 8},        {"bfp16", 9},
};

std::string lower(std::string_view text, bool with_lines) {
  std::string result;
  for (const char c : text)
    if (with_lines || c != '_') result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

}  // namespace

std::string collective_operation(std::string_view name) {
  std::string plain = lower(name, false);
  for (const std::string_view end : {"coalesced", "base", "oop", "tensor", "into", "single"})
    if (plain.ends_with(end)) plain.resize(plain.size() - end.size());
  for (const Row& row : kOperations)
    if (row.name == plain) return std::string(row.operation);
  return {};
}

int collective_type(std::string_view name) {
  std::string plain = lower(name, true);
  if (plain.starts_with("c10::")) plain.erase(0, 5);
  for (const TypeRow& row : kTypes)
    if (row.name == plain) return row.type;
  return kNcclNoType;
}

}  // namespace hostprobe::analysis
