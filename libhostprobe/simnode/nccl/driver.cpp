// See driver.h.
#include "driver.h"

#include "kernel_names.h"
#include "last_error.h"
#include "node/futex.h"
#include "node/say.h"

#include <dlfcn.h>
#include <map>
#include <string>

namespace simnode::nccl {

namespace {

constexpr int kAskedVersion = 12000;

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

template <class Function>
bool ask(GetProcAddress get, const char* name, Function* function) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  if (get(name, &found, kAskedVersion, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status) != CUDA_SUCCESS) return false;
  *reinterpret_cast<void**>(function) = found;
  return found != nullptr;
}

bool ask_all(GetProcAddress get, Driver* all) {
  return ask(get, "cuInit", &all->init) && ask(get, "cuCtxGetCurrent", &all->context_current) &&
         ask(get, "cuCtxSetCurrent", &all->set_context) && ask(get, "cuCtxPushCurrent", &all->push_context) &&
         ask(get, "cuCtxPopCurrent", &all->pop_context) && ask(get, "cuCtxGetDevice", &all->context_device) &&
         ask(get, "cuDeviceGetCount", &all->device_count) && ask(get, "cuDeviceGetAttribute", &all->device_attribute) &&
         ask(get, "cuDeviceGetPCIBusId", &all->pci_id) && ask(get, "cuDevicePrimaryCtxRetain", &all->retain_primary) &&
         ask(get, "cuModuleLoadData", &all->load_module) && ask(get, "cuModuleGetFunction", &all->find_function) &&
         ask(get, "cuLaunchKernelEx", &all->launch) && ask(get, "cuStreamIsCapturing", &all->is_capturing) &&
         ask(get, "cuEventCreate", &all->create_event) && ask(get, "cuEventRecord", &all->record_event) &&
         ask(get, "cuEventDestroy", &all->destroy_event) && ask(get, "cuStreamWaitEvent", &all->wait_event) &&
         ask(get, "cuMemAlloc", &all->allocate) && ask(get, "cuMemFree", &all->free) &&
         ask(get, "cuGetErrorString", &all->error_text);
}

template <class Function>
bool find_own(void* library, const char* name, Function* function) {
  *reinterpret_cast<void**>(function) = dlsym(library, name);
  return *function != nullptr;
}

const Driver* open_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    say("libcuda.so.1 cannot be opened: %s. Put the simulated driver's folder into LD_LIBRARY_PATH.", dlerror());
    return nullptr;
  }
  auto* all = new Driver{};
  bool own = find_own(library, "simnode_register_waiting_kernel", &all->register_waiting_kernel) &&
             find_own(library, "simnode_add_count", &all->add_count) &&
             find_own(library, "simnode_count", &all->count) && find_own(library, "simnode_start_ns", &all->start_ns);
  GetProcAddress get = nullptr;
  if (own && find_own(library, "cuGetProcAddress_v2", &get) && ask_all(get, all)) return all;
  say("libcuda.so.1 is not the simulated driver that belongs to this libnccl.so.2; communicators cannot be made. Put "
      "the "
      "simulated driver's folder first into LD_LIBRARY_PATH, or take it out to use the real libraries.");
  delete all;
  return nullptr;
}

}  // namespace

const Driver* driver() {
  static const Driver* const all = open_driver();
  return all;
}

ncclResult_t check_cuda(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return ncclSuccess;
  const char* text = nullptr;
  driver()->error_text(result, &text);
  return fail(ncclUnhandledCudaError, "Cuda failure %d '%s' in %s", static_cast<int>(result),
              text == nullptr ? "unknown" : text, call);
}

ncclResult_t find_kernel(CUcontext context, const char* name, CUfunction* function) {
  static Mutex mutex;
  static auto* const modules = new std::map<CUcontext, CUmodule>;
  static auto* const functions = new std::map<std::pair<CUcontext, std::string>, CUfunction>;
  MutexLock lock(mutex);
  CUfunction& known = (*functions)[{context, name}];
  if (known == nullptr) {
    CUmodule& module = (*modules)[context];
    if (module == nullptr)
      NCCL_TRY(check_cuda(driver()->load_module(&module, kernel_module().c_str()), "cuModuleLoadData"));
    NCCL_TRY(check_cuda(driver()->find_function(&known, module, name), "cuModuleGetFunction"));
  }
  *function = known;
  return ncclSuccess;
}

void Counter::add() {
  const Driver* all = driver();
  if (all == nullptr) return;
  unsigned number = number_.load(std::memory_order_acquire);
  if (number == 0) {
    static Mutex mutex;
    MutexLock lock(mutex);
    number = number_.load(std::memory_order_relaxed);
    if (number == 0) number_.store(number = all->add_count(name_), std::memory_order_release);
  }
  all->count(number);
}

CurrentContext::CurrentContext(CUcontext context) {
  CUcontext current = nullptr;
  if (driver()->context_current(&current) == CUDA_SUCCESS && current == context) return;
  pushed_ = driver()->push_context(context) == CUDA_SUCCESS;
}

CurrentContext::~CurrentContext() {
  CUcontext popped;
  if (pushed_) driver()->pop_context(&popped);
}

}  // namespace simnode::nccl
