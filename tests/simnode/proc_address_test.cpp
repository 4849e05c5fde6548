// (name, version, flags) to entry point. The expected symbol is what the preprocessor makes of the name with this header,
// or what cudaTypedefs.h says for an older version; addresses are compared with dlsym's.
#include "node_test.h"

#include <dlfcn.h>

using ProcAddress = NodeTest;

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

namespace {

void* exported(const char* symbol) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return dlsym(driver, symbol);
}

char g_nothing;
void* const kUntouched = &g_nothing;

void* asked(const char* name, int version, cuuint64_t flags, int* status = nullptr) {
  void* function = kUntouched;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
  cuGetProcAddress(name, &function, version, flags, &found);
  if (status != nullptr) *status = found;
  return function;
}

struct Mapped {
  const char* name;
  int version;
  cuuint64_t flags;
  const char* symbol;
};

constexpr Mapped kOlder[] = {
    {"cuMemAlloc", 2000, 0, "cuMemAlloc"},
    {"cuMemAlloc", 3010, 0, "cuMemAlloc"},
    {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
    {"cuCtxCreate", 2000, 0, "cuCtxCreate"},
    {"cuCtxCreate", 3020, 0, "cuCtxCreate_v2"},
    {"cuCtxCreate", 11040, 0, "cuCtxCreate_v3"},
    {"cuCtxDestroy", 3999, 0, "cuCtxDestroy"},
    {"cuCtxDestroy", 4000, 0, "cuCtxDestroy_v2"},
    {"cuGraphInstantiate", 10000, 0, "cuGraphInstantiate"},
    {"cuGraphInstantiate", 11000, 0, "cuGraphInstantiate_v2"},
    {"cuGraphInstantiate", 11080, 0, "cuGraphInstantiate_v2"},
    {"cuGraphInstantiate", 12000, 0, "cuGraphInstantiate_v2"},  // cuda.h renames it, drivers do not
    {"cuGraphInstantiateWithFlags", 11040, 0, "cuGraphInstantiateWithFlags"},
    {"cuStreamBeginCapture", 10000, 0, "cuStreamBeginCapture"},
    {"cuStreamBeginCapture", 10010, 2, "cuStreamBeginCapture_v2_ptsz"},
    {"cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo"},
    {"cuStreamGetCaptureInfo", 11030, 0, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 12030, 2, "cuStreamGetCaptureInfo_v3_ptsz"},
    {"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
    {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
    {"cuLaunchKernel", 4000, 0, "cuLaunchKernel"},
    {"cuLaunchKernel", 4000, 1, "cuLaunchKernel"},
    {"cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz"},
    {"cuLaunchKernel", 7000, 3, "cuLaunchKernel_ptsz"},
    {"cuLaunchKernel", 99999, 0, "cuLaunchKernel"},
    {"cuLaunchKernelEx", 11060, 2, "cuLaunchKernelEx_ptsz"},
    {"cuMemcpyHtoD", 2000, 0, "cuMemcpyHtoD"},
    {"cuMemcpyHtoD", 3020, 0, "cuMemcpyHtoD_v2"},
    {"cuMemsetD2D32", 3010, 1, "cuMemsetD2D32"},
    {"cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds"},
    {"cuEventQuery", 2000, 2, "cuEventQuery"},
    {"cuInit", 2000, 2, "cuInit"},
    {"cuStreamWaitValue32", 8000, 0, "cuStreamWaitValue32"},
    {"cuStreamWaitValue32", 11070, 0, "cuStreamWaitValue32_v2"},
    {"cuProfilerStop", 4000, 0, "cuProfilerStop"},
#if CUDA_VERSION >= 13000
    {"cuCtxSynchronize", 2000, 0, "cuCtxSynchronize"},
    {"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"},
    {"cuCtxCreate", 12050, 0, "cuCtxCreate_v4"},
    {"cuEventElapsedTime", 12080, 0, "cuEventElapsedTime_v2"},
#endif
};

}  // namespace

TEST_F(ProcAddress, MapsVersionsAsTheTypedefsSay) {
  for (const Mapped& row : kOlder) {
    ASSERT_NE(exported(row.symbol), nullptr) << row.symbol;
    EXPECT_EQ(asked(row.name, row.version, row.flags), exported(row.symbol))
        << row.name << " " << row.version << " flags " << row.flags;
  }
}

TEST_F(ProcAddress, NewestVersionIsWhatTheHeaderNames) {
#define EXPECT_CURRENT(name) EXPECT_EQ(asked(#name, CUDA_VERSION, 0), exported(TEXT(name))) << #name
  EXPECT_CURRENT(cuMemAlloc);
  EXPECT_CURRENT(cuMemFree);
  EXPECT_CURRENT(cuMemGetInfo);
  EXPECT_CURRENT(cuMemHostRegister);
  EXPECT_CURRENT(cuMemcpyDtoH);
  EXPECT_CURRENT(cuMemcpy3DAsync);
  EXPECT_CURRENT(cuMemsetD32);
  EXPECT_CURRENT(cuModuleGetGlobal);
  EXPECT_CURRENT(cuLinkCreate);
  EXPECT_CURRENT(cuLinkAddData);
  EXPECT_CURRENT(cuStreamDestroy);
  EXPECT_CURRENT(cuEventDestroy);
  EXPECT_CURRENT(cuEventElapsedTime);
  EXPECT_CURRENT(cuCtxPushCurrent);
  EXPECT_CURRENT(cuCtxPopCurrent);
  EXPECT_CURRENT(cuDevicePrimaryCtxRelease);
  EXPECT_CURRENT(cuDevicePrimaryCtxSetFlags);
  EXPECT_CURRENT(cuDeviceTotalMem);
  EXPECT_CURRENT(cuGraphExecUpdate);
  EXPECT_CURRENT(cuGraphAddKernelNode);
  EXPECT_CURRENT(cuStreamWriteValue64);
  EXPECT_CURRENT(cuStreamBatchMemOp);
  EXPECT_CURRENT(cuIpcOpenMemHandle);
  EXPECT_CURRENT(cuGetProcAddress);
  EXPECT_CURRENT(cuLaunchKernel);
#if CUDA_VERSION >= 13000  // older headers still named the form before the newest one
  EXPECT_CURRENT(cuDeviceGetUuid);
  EXPECT_CURRENT(cuGraphGetEdges);
  EXPECT_CURRENT(cuMemPrefetchAsync);
#endif
}

TEST_F(ProcAddress, UnknownNamesAreNotFound) {
  for (const char* name : {"cuNoSuchThing", "", "cuMemAlloc_v2", "cuLaunchKernel_ptsz", "cuLaunchKernel_v2",
                           "cuInit_v2", "cuLaunchKern", "cuLaunchKernelX", "simnode_register_kernel", "malloc"}) {
    int status = -1;
    EXPECT_EQ(asked(name, CUDA_VERSION, 0, &status), nullptr) << name;
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) << name;
  }
  void* function = &function;
  EXPECT_EQ(cuGetProcAddress("cuNoSuchThing", &function, CUDA_VERSION, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(function, nullptr);
}

TEST_F(ProcAddress, TooOldVersionsAreToldApart) {
  int status = -1;
  EXPECT_EQ(asked("cuLaunchKernelEx", 11000, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(asked("cuInit", 1000, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(asked("cuLaunchKernel", 6050, 2, &status), nullptr) << "per-thread streams came with CUDA 7";
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST_F(ProcAddress, BadArgumentsAreRefused) {
  void* function = &function;
  EXPECT_EQ(cuGetProcAddress(nullptr, &function, CUDA_VERSION, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", nullptr, CUDA_VERSION, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  for (cuuint64_t flags : {4, 8, 64, 1 << 30}) {
    int status = -1;
    EXPECT_EQ(asked("cuInit", CUDA_VERSION, flags, &status), kUntouched) << flags;
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS) << "left as it was";
    EXPECT_EQ(cuGetProcAddress("cuInit", &function, CUDA_VERSION, flags, nullptr), CUDA_ERROR_INVALID_VALUE) << flags;
  }
}

TEST_F(ProcAddress, TheFirstFormWorksWithFourArguments) {
  using First = CUresult (*)(const char*, void**, int, cuuint64_t);
  auto first = reinterpret_cast<First>(exported("cuGetProcAddress"));
  void* function = nullptr;
  EXPECT_EQ(first("cuMemAlloc", &function, 11030, 0), CUDA_SUCCESS);
  EXPECT_EQ(function, exported("cuMemAlloc_v2"));
  function = kUntouched;
  EXPECT_EQ(first("cuNoSuchThing", &function, 11030, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(first("cuInit", &function, 1000, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(first("cuInit", &function, 11030, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(function, kUntouched);
}

TEST_F(ProcAddress, FunctionsWithoutAModelSaySo) {
  CUarray array;
  CUDA_ARRAY_DESCRIPTOR description{};
  EXPECT_EQ(cuArrayCreate(&array, &description), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(ProcAddress, ErrorsHaveNamesAndTexts) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST_F(ProcAddress, PrivateTablesAreNotThere) {
  const void* table = &table;
  CUuuid id{};
  EXPECT_NE(cuGetExportTable(&table, &id), CUDA_SUCCESS);
  EXPECT_EQ(table, nullptr);
}
