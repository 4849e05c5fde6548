// The start of the driver, and its version.
#include "cuda/model/node.h"
#include "entry.h"
#include "node/counts.h"
#include "shell.h"

#include <cstdlib>

namespace simnode {

namespace {

__attribute__((constructor)) void on_load() {
  const char* folder = getenv("SIMNODE_COUNTS");
  if (folder != nullptr && *folder != '\0') start_counting(folder, kEntryNames, kEntryCount);
}

}  // namespace

SIMNODE_ENTRY(cuInit)(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(g_mutex);
  return start_node();
}

SIMNODE_ENTRY(cuDriverGetVersion)(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // May be asked before cuInit; the setting is read again there.
  *version = g_node != nullptr ? g_node->settings.driver_version : Settings().driver_version;
  return CUDA_SUCCESS;
}

}  // namespace simnode
