// Names and texts of error codes, from the header the simulated driver was built with.
#include "entry.h"
#include "shell.h"

#include <cctype>
#include <cstring>
#include <string>
#include <vector>

namespace simnode {

namespace {

// CUDA_ERROR_OUT_OF_MEMORY reads "out of memory"; the few whose usual text differs are listed.
std::string text_for(const ErrorName& error) {
  switch (error.value) {
    case CUDA_SUCCESS:
      return "no error";
    case CUDA_ERROR_INVALID_VALUE:
      return "invalid argument";
    case CUDA_ERROR_NOT_INITIALIZED:
      return "initialization error";
    case CUDA_ERROR_DEINITIALIZED:
      return "driver shutting down";
    case CUDA_ERROR_NO_DEVICE:
      return "no CUDA-capable device is detected";
    case CUDA_ERROR_INVALID_DEVICE:
      return "invalid device ordinal";
    case CUDA_ERROR_INVALID_IMAGE:
      return "device kernel image is invalid";
    case CUDA_ERROR_INVALID_CONTEXT:
      return "invalid device context";
    case CUDA_ERROR_INVALID_HANDLE:
      return "invalid resource handle";
    case CUDA_ERROR_NOT_FOUND:
      return "named symbol not found";
    case CUDA_ERROR_NOT_READY:
      return "device not ready";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return "an illegal memory access was encountered";
    case CUDA_ERROR_LAUNCH_FAILED:
      return "unspecified launch failure";
    case CUDA_ERROR_NOT_SUPPORTED:
      return "operation not supported";
    default:
      break;
  }
  std::string text = error.name + strlen("CUDA_ERROR_");
  for (char& c : text) c = c == '_' ? ' ' : static_cast<char>(tolower(c));
  return text;
}

const std::vector<std::string>& texts() {
  static const auto* const all = [] {
    auto* made = new std::vector<std::string>;
    for (unsigned i = 0; i < kErrorCount; ++i) made->push_back(text_for(kErrorNames[i]));
    return made;
  }();
  return *all;
}

}  // namespace

SIMNODE_ENTRY(cuGetErrorName)(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = nullptr;
  for (unsigned i = 0; i < kErrorCount; ++i)
    if (kErrorNames[i].value == static_cast<int>(error)) *name = kErrorNames[i].name;
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGetErrorString)(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  for (unsigned i = 0; i < kErrorCount; ++i)
    if (kErrorNames[i].value == static_cast<int>(error)) *text = texts()[i].c_str();
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuProfilerStart)() { return CUDA_SUCCESS; }
SIMNODE_ENTRY(cuProfilerStop)() { return CUDA_SUCCESS; }

}  // namespace simnode
