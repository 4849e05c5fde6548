// nvtx_abi.h: what a tool needs of NVTX version 3, as nvtxDetail/nvtxTypes.h and nvToolsExt.h of NVIDIA's package describe it.
//
// Room 2 (probe/). Numbers and layouts are part of NVTX's binary interface. Source: nvtx3, version 3.2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe::nvtx {

inline constexpr std::uint32_t kCallbacks = 1;         // NVTX_ETID_CALLBACKS
inline constexpr std::uint32_t kCore = 1, kCore2 = 5;  // NVTX_CB_MODULE_…

// NVTX_CBID_CORE_…
enum Core : std::uint32_t {
  kMarkEx = 1,
  kMarkA = 2,
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePop = 11,
};

// NVTX_CBID_CORE2_…
enum Core2 : std::uint32_t {
  kDomainMarkEx = 1,
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainRegisterStringA = 10,
  kDomainCreateA = 12,
};

using Function = void (*)();
using FunctionTable = Function**;  // an array of pointers to function pointers

struct Callbacks {
  std::size_t bytes;
  int (*module_functions)(std::uint32_t module, FunctionTable* table, unsigned* size);
};
using GetExportTable = const void* (*)(std::uint32_t id);

inline constexpr std::int32_t kPayloadDouble = 3;  // the others are whole numbers, or floats of 4 bytes
inline constexpr std::int32_t kPayloadUnsigned = 1, kPayloadSigned = 2;
inline constexpr std::int32_t kAscii = 1, kRegistered = 3;  // NVTX_MESSAGE_TYPE_…

// nvtxEventAttributes_v2.
struct Attributes {
  std::uint16_t version, bytes;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  union {
    std::uint64_t unsigned_number;
    std::int64_t number;
    double real;
  } payload;
  std::int32_t message_type;
  const void* message;  // of kAscii: text; of kRegistered: what we gave for it
};
static_assert(offsetof(Attributes, payload) == 24 && offsetof(Attributes, message) == 40);

}  // namespace hostprobe::probe::nvtx
