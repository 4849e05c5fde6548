// Compiled with a real nvml.h where one is present: what our nvml_types.h says is what that header says. That it compiles
// is the test.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <cstddef>

namespace ours {
#include "nvml_types.h"
}

#define SAME_SIZE(type) static_assert(sizeof(::type) == sizeof(ours::type))
#define SAME_MEMBER(type, member)                                           \
  static_assert(offsetof(::type, member) == offsetof(ours::type, member) && \
                sizeof(::type::member) == sizeof(ours::type::member))
#define SAME_VALUE(name) static_assert(static_cast<int>(::name) == static_cast<int>(ours::name))

SAME_SIZE(nvmlPciInfo_t);
SAME_MEMBER(nvmlPciInfo_t, domain);
SAME_MEMBER(nvmlPciInfo_t, pciSubSystemId);
SAME_MEMBER(nvmlPciInfo_t, busId);
SAME_SIZE(nvmlUtilization_t);
SAME_SIZE(nvmlMemory_t);
SAME_MEMBER(nvmlMemory_t, used);
SAME_SIZE(nvmlMemory_v2_t);
SAME_MEMBER(nvmlMemory_v2_t, used);
static_assert(nvmlMemory_v2 == ours::kMemory2);
SAME_SIZE(nvmlProcessInfo_v1_t);
SAME_SIZE(nvmlProcessInfo_t);
SAME_MEMBER(nvmlProcessInfo_t, computeInstanceId);
static_assert(NVML_CLOCK_COUNT == ours::kClockTypes);
static_assert(int{NVML_TOPOLOGY_NODE} == int{ours::kTopologyNode});
static_assert(int{NVML_TOPOLOGY_SYSTEM} == int{ours::kTopologySystem});
SAME_VALUE(NVML_ERROR_UNINITIALIZED);
SAME_VALUE(NVML_ERROR_INVALID_ARGUMENT);
SAME_VALUE(NVML_ERROR_NOT_SUPPORTED);
SAME_VALUE(NVML_ERROR_NOT_FOUND);
SAME_VALUE(NVML_ERROR_INSUFFICIENT_SIZE);
SAME_VALUE(NVML_ERROR_LIBRARY_NOT_FOUND);
SAME_VALUE(NVML_ERROR_FUNCTION_NOT_FOUND);
SAME_VALUE(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
SAME_VALUE(NVML_ERROR_UNKNOWN);
