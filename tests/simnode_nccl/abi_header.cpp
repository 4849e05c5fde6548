// Compiled once with each real nccl.h that is present: what nccl_types.h and functions.def say is what that header says.
// That it compiles is the test.
// nccl.h includes these for device code; they need headers that not every installation brings.
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
#define __CUDA_FP8_H__
#include <nccl.h>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ours {
#include "nccl_types.h"
}

#define SAME_VALUE(name) static_assert(static_cast<int>(::name) == static_cast<int>(ours::name))
SAME_VALUE(ncclSuccess);
SAME_VALUE(ncclUnhandledCudaError);
SAME_VALUE(ncclSystemError);
SAME_VALUE(ncclInternalError);
SAME_VALUE(ncclInvalidArgument);
SAME_VALUE(ncclInvalidUsage);
SAME_VALUE(ncclRemoteError);
SAME_VALUE(ncclInProgress);
SAME_VALUE(ncclInt8);
SAME_VALUE(ncclUint8);
SAME_VALUE(ncclInt32);
SAME_VALUE(ncclUint32);
SAME_VALUE(ncclInt64);
SAME_VALUE(ncclUint64);
SAME_VALUE(ncclFloat16);
SAME_VALUE(ncclFloat32);
SAME_VALUE(ncclFloat64);
SAME_VALUE(ncclBfloat16);
SAME_VALUE(ncclSum);
SAME_VALUE(ncclProd);
SAME_VALUE(ncclMax);
SAME_VALUE(ncclMin);
SAME_VALUE(ncclAvg);
SAME_VALUE(ncclNumOps);
SAME_VALUE(ncclMaxRedOp);
SAME_VALUE(ncclScalarDevice);
SAME_VALUE(ncclScalarHostImmediate);

#define SAME_SIZE(type) static_assert(sizeof(::type) == sizeof(ours::type))
SAME_SIZE(ncclUniqueId);
SAME_SIZE(ncclResult_t);
SAME_SIZE(ncclDataType_t);
SAME_SIZE(ncclRedOp_t);
SAME_SIZE(ncclScalarResidence_t);

#define SAME_MEMBER(type, member)                                           \
  static_assert(offsetof(::type, member) == offsetof(ours::type, member) && \
                sizeof(::type::member) == sizeof(ours::type::member))
SAME_MEMBER(ncclConfig_t, size);
SAME_MEMBER(ncclConfig_t, magic);
SAME_MEMBER(ncclConfig_t, version);
SAME_MEMBER(ncclConfig_t, blocking);
SAME_MEMBER(ncclConfig_t, cgaClusterSize);
SAME_MEMBER(ncclConfig_t, minCTAs);
SAME_MEMBER(ncclConfig_t, maxCTAs);
SAME_MEMBER(ncclConfig_t, netName);
SAME_MEMBER(ncclConfig_t, splitShare);
#if NCCL_VERSION_CODE >= 22703
SAME_MEMBER(ncclConfig_t, trafficClass);
SAME_MEMBER(ncclConfig_t, commName);
SAME_MEMBER(ncclConfig_t, collnetEnable);
SAME_MEMBER(ncclConfig_t, CTAPolicy);
SAME_MEMBER(ncclConfig_t, shrinkShare);
SAME_MEMBER(ncclConfig_t, nvlsCTAs);
SAME_VALUE(ncclFloat8e4m3);
SAME_VALUE(ncclFloat8e5m2);
#endif
#if NCCL_VERSION_CODE >= 22203
SAME_SIZE(ncclSimInfo_t);
SAME_MEMBER(ncclSimInfo_t, estimatedTime);
#endif
#if NCCL_VERSION_CODE >= 23003
SAME_MEMBER(ncclConfig_t, nChannelsPerNetPeer);
SAME_MEMBER(ncclConfig_t, nvlinkCentricSched);
SAME_MEMBER(ncclConfig_t, graphUsageMode);
SAME_MEMBER(ncclConfig_t, numRmaCtx);
SAME_MEMBER(ncclConfig_t, maxP2pPeers);
SAME_MEMBER(ncclConfig_t, graphStreamOrdering);
SAME_MEMBER(ncclWaitSignalDesc_t, opCnt);
SAME_MEMBER(ncclWaitSignalDesc_t, ctx);
SAME_SIZE(ncclWaitSignalDesc_t);
SAME_VALUE(ncclTimeout);
SAME_VALUE(ncclStatGpuMemTotal);
#endif
#if NCCL_VERSION_CODE >= 23203
SAME_SIZE(ncclConfig_t);
SAME_MEMBER(ncclConfig_t, nvlsHostMode);
SAME_SIZE(ncclCollConfig_t);
SAME_MEMBER(ncclCollConfig_t, ext);
SAME_MEMBER(ncclCollConfig_t, algSelection);
SAME_MEMBER(ncclCollConfig_t, userProfilerTag);
SAME_MEMBER(ncclCollConfig_t, launchCompletionEvent);
SAME_SIZE(ncclEncryptionConfig_t);
SAME_MEMBER(ncclEncryptionConfig_t, psk);
#endif

#define NCCL_FUNCTION(result, name, parameters, arguments)                       \
  static_assert(std::is_same_v<decltype(&::name), result(*) parameters>, #name); \
  static_assert(std::is_same_v<decltype(&::p##name), result(*) parameters>, #name);
#include "functions.def"
