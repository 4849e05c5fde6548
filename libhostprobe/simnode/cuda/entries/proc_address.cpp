// cuGetProcAddress: (name, version, flags) to entry point, from the table that generate_entries.py read out of
// cudaTypedefs.h, by the rules that NVIDIA's drivers 470, 535 and 550 were seen to follow (tests/real_drivers). The two
// forms of the function say "not found" differently: the first by CUDA_ERROR_NOT_FOUND, leaving the pointer as it was, the
// second by success, a null pointer and a status.
#include "cuda/model/node.h"
#include "entry.h"
#include "node/say.h"
#include "shell.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace simnode {

namespace {

constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
constexpr cuuint64_t kKnownFlags = CU_GET_PROC_ADDRESS_LEGACY_STREAM | kPerThread;

int driver_version() { return g_node != nullptr ? g_node->settings.driver_version : Settings().driver_version; }

struct Answer {
  void* function = nullptr;
  bool known = false;  // by that name, if by no version as old as the one asked for
};

// Among the rows of one name: the newest that is no newer than asked for. A version newer than the driver's own is fine.
Answer find_form(const Address* row, const Address* end, bool per_thread, int version) {
  Answer answer;
  int newest = driver_version();
  for (; row != end; ++row) {
    if (row->per_thread != per_thread || row->version > newest) continue;
    answer.known = true;
    if (row->version <= version) answer.function = row->function;
  }
  return answer;
}

CUresult look_up(const char* name, cuuint64_t flags, int version, Answer* answer) {
  if (name == nullptr || (flags & ~kKnownFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  // Rows of one name stand together, oldest first.
  const auto [first, end] =
      std::equal_range(kAddresses, kAddresses + kAddressCount, Address{name, false, 0, nullptr},
                       [](const Address& left, const Address& right) { return strcmp(left.name, right.name) < 0; });
  // A function that has a form for the thread's own stream has no other for whoever asks for that.
  if ((flags & kPerThread) != 0) *answer = find_form(first, end, true, version);
  if (!answer->known) *answer = find_form(first, end, false, version);
  return CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuGetProcAddress)(const char* name, void** function, int version, cuuint64_t flags) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Answer answer;
  SIMNODE_TRY(look_up(name, flags, version, &answer));
  if (answer.function == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = answer.function;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGetProcAddress_v2)
(const char* name, void** function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Answer answer;
  SIMNODE_TRY(look_up(name, flags, version, &answer));
  *function = answer.function;
  if (status != nullptr)  // the runtime passes null
    *status = answer.function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : answer.known             ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                         : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}

// Private tables between NVIDIA's own libraries. They are not ours to have. Whoever asks is NVIDIA's runtime, or a library
// that has it inside, and gives up on this driver now: its user sees only an error number.
SIMNODE_ENTRY(cuGetExportTable)(const void** table, const CUuuid*) {
  static std::atomic<bool> g_said{false};
  if (!g_said.exchange(true))
    say("NVIDIA's CUDA runtime refuses the simulated GPU (cudaError 103 or 500): it works with NVIDIA's own driver "
        "only. "
        "Programs of the driver API run here; PyTorch's CUDA path does not");
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace simnode
