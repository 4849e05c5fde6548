// cuGetProcAddress: (name, version, flags) to entry point, from the table that generate_entries.py read out of
// cudaTypedefs.h. An unknown name answers CUDA_ERROR_NOT_FOUND with status 1, a version from before the first form status
// 2, as drivers do (the header's text promises CUDA_SUCCESS and a null pointer; the pointer is null here too).
#include "entry.h"
#include "node.h"
#include "shell.h"

#include <algorithm>
#include <cstring>

namespace simnode {

namespace {

constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
constexpr cuuint64_t kKnownFlags = CU_GET_PROC_ADDRESS_LEGACY_STREAM | kPerThread;

int driver_version() { return g_node != nullptr ? g_node->settings.driver_version : Settings().driver_version; }

CUresult look_up(const char* name, void** function, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || function == nullptr || (flags & ~kKnownFlags) != 0 || flags == kKnownFlags)
    return CUDA_ERROR_INVALID_VALUE;
  int newest = driver_version();
  if (version > newest) return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  // Rows of one name stand together, oldest first.
  const Address* end = kAddresses + kAddressCount;
  const Address* row = std::lower_bound(
      kAddresses, end, name, [](const Address& address, const char* key) { return strcmp(address.name, key) < 0; });
  bool known = false;
  for (; row != end && strcmp(row->name, name) == 0; ++row) {
    if (row->version > newest) continue;
    known = true;
    if (row->version > version) continue;
    *function = flags == kPerThread && row->per_thread != nullptr ? row->per_thread : row->legacy;
  }
  *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
            : known              ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

SIMNODE_ENTRY(cuGetProcAddress)(const char* name, void** function, int version, cuuint64_t flags) {
  CUdriverProcAddressQueryResult status;
  return look_up(name, function, version, flags, &status);
}

SIMNODE_ENTRY(cuGetProcAddress_v2)
(const char* name, void** function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* out) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CUresult result = look_up(name, function, version, flags, &status);
  if (out != nullptr) *out = status;  // the runtime passes null
  return result;
}

// Private tables between NVIDIA's own libraries. They are not ours to have.
SIMNODE_ENTRY(cuGetExportTable)(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace simnode
