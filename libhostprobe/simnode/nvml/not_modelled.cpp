// Every other function of NVML's interface, for programs that look all of them up and give up where one is missing. Their
// further parameters are not looked at, so they need not be declared.
#include "library.h"

namespace simnode::nvml {

#define NVML_OF_DEVICE(name)                   \
  NVML_EXPORT nvmlReturn_t name(nvmlDevice_t); \
  nvmlReturn_t name(nvmlDevice_t handle) {     \
    int device;                                \
    NVML_TRY(find(handle, &device));           \
    return NVML_ERROR_NOT_SUPPORTED;           \
  }
#define NVML_OTHER(name)             \
  NVML_EXPORT nvmlReturn_t name();   \
  nvmlReturn_t name() {              \
    NVML_TRY(ready());               \
    return NVML_ERROR_NOT_SUPPORTED; \
  }
#include "not_modelled.def"

}  // namespace simnode::nvml
