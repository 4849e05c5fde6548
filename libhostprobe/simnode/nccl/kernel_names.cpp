// See kernel_names.h.
#include "kernel_names.h"

#include <set>
#include <vector>

namespace simnode::nccl {

namespace {

const char* const kTypes[] = {"i8", "u8", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};

const char* operation_name(Op op) {
  switch (op) {
    case Op::kSum:
      return "Sum";
    case Op::kProd:
      return "Prod";
    case Op::kMax:
    case Op::kMin:
      return "MinMax";
    case Op::kAvg:
      return "SumPostDiv";
    default:
      return "PreMulSum";
  }
}

bool reduces(Kind kind) { return kind == Kind::kAllReduce || kind == Kind::kReduce || kind == Kind::kReduceScatter; }

std::string made_name(Kind kind, Op op, ncclDataType_t type) {
  std::string name = "ncclDevKernel_";
  if (kind == Kind::kSend || kind == Kind::kRecv) {
    name += "SendRecv";
  } else if (reduces(kind)) {
    name += std::string(collective_name(kind)) + "_" + operation_name(op) + "_" + kTypes[type] + "_RING_LL";
  } else {
    name += std::string(collective_name(kind)) + "_RING_LL";
  }
  return "_Z" + std::to_string(name.size()) + name + "24ncclDevKernelArgsStorageILm4096EE";
}

struct Names {
  std::set<std::string> kept;  // its strings never move
  std::vector<const char*> list;
  const char* by_key[7][7][ncclNumTypes];

  Names() {
    for (uint32_t kind = 0; kind < 7; ++kind)
      for (uint32_t op = 0; op < 7; ++op)
        for (int type = 0; type < ncclNumTypes; ++type)
          by_key[kind][op][type] =
              kept.insert(made_name(Kind{kind}, Op{op}, static_cast<ncclDataType_t>(type))).first->c_str();
    for (const std::string& name : kept) list.push_back(name.c_str());
  }
};

const Names& names() {
  static const Names* const all = new Names;
  return *all;
}

}  // namespace

const char* collective_name(Kind kind) {
  switch (kind) {
    case Kind::kAllReduce:
      return "AllReduce";
    case Kind::kReduce:
      return "Reduce";
    case Kind::kReduceScatter:
      return "ReduceScatter";
    case Kind::kAllGather:
      return "AllGather";
    case Kind::kBroadcast:
      return "Broadcast";
    case Kind::kSend:
      return "Send";
    case Kind::kRecv:
      return "Recv";
  }
  return "unknown";
}

const char* kernel_name(Kind kind, Op op, ncclDataType_t type) {
  return names().by_key[static_cast<uint32_t>(kind)][static_cast<uint32_t>(op)][type];
}

const std::string& kernel_module() {
  static const std::string* const text = [] {
    auto* made = new std::string("simnode-module 1\n");
    for (const char* name : names().list)
      *made += "kernel " + std::string(name) + " " + std::to_string(kArgumentBytes) + "\n";
    return made;
  }();
  return *text;
}

const char* const* all_kernel_names(size_t* count) {
  *count = names().list.size();
  return names().list.data();
}

}  // namespace simnode::nccl
