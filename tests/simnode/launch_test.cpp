#include "node_test.h"
#include "simnode.h"

#include <cstring>

using Launches = NodeTest;

namespace {

int add_on_host(const simnode_launch* launch, void* user) {
  auto* out = *static_cast<float**>(launch->parameters[0]);
  auto* in = *static_cast<float**>(launch->parameters[1]);
  float factor = *static_cast<float*>(launch->parameters[2]);
  auto count = *static_cast<uint32_t*>(launch->parameters[3]);
  for (uint32_t i = 0; i < count; ++i) out[i] += factor * in[i];
  if (user != nullptr) *static_cast<simnode_launch*>(user) = *launch;
  return 0;
}

int fail_on_host(const simnode_launch*, void*) { return CUDA_ERROR_ILLEGAL_ADDRESS; }

struct Operands {
  CUdeviceptr out, in;
  float factor = 0.5f;
  uint32_t count = 256;
  void* parameters[4] = {&out, &in, &factor, &count};
};

}  // namespace

class Computing : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    operands_.out = allocate(1024);
    operands_.in = allocate(1024);
    std::vector<float> ones(256, 1), twos(256, 2);
    OK(cuMemcpyHtoD(operands_.out, ones.data(), 1024));
    OK(cuMemcpyHtoD(operands_.in, twos.data(), 1024));
  }
  void TearDown() override {
    simnode_register("add", nullptr, nullptr);
    simnode_register("bad", nullptr, nullptr);
    NodeTest::TearDown();
  }
  float first() {
    float value = 0;
    EXPECT_EQ(cuMemcpyDtoH(&value, operands_.out, 4), CUDA_SUCCESS);
    return value;
  }
  Operands operands_;
};

TEST_F(Computing, RegisteredFunctionsComputeInStreamOrder) {
  simnode_launch seen{};
  ASSERT_EQ(simnode_register("add", add_on_host, &seen), 1);
  CUstream one = stream();
  for (int i = 0; i < 10; ++i)
    OK(cuLaunchKernel(function("add"), 3, 2, 1, 64, 2, 1, 128, one, operands_.parameters, nullptr));
  OK(cuStreamSynchronize(one));
  EXPECT_FLOAT_EQ(first(), 1 + 10 * 0.5f * 2);
  EXPECT_EQ(seen.grid[0], 3u);
  EXPECT_EQ(seen.grid[1], 2u);
  EXPECT_EQ(seen.block[0], 64u);
  EXPECT_EQ(seen.shared_bytes, 128u);
  EXPECT_EQ(seen.parameter_count, 4u);
  EXPECT_EQ(seen.device, 0);
}

TEST_F(Computing, ArgumentsAreThoseOfTheLaunch) {
  ASSERT_EQ(simnode_register("add", add_on_host, nullptr), 1);
  CUstream one = stream();
  OK(launch("slow", one));
  OK(launch(function("add"), one, operands_.parameters));
  operands_.factor = 1000;  // after the launch, before it runs
  OK(cuStreamSynchronize(one));
  EXPECT_FLOAT_EQ(first(), 2);
}

TEST_F(Computing, ArgumentsMayComeInOneBuffer) {
  ASSERT_EQ(simnode_register("add", add_on_host, nullptr), 1);
  struct {
    CUdeviceptr out, in;
    float factor;
    uint32_t count;
  } buffer{operands_.out, operands_.in, 3, 256};
  size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(function("add"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_FLOAT_EQ(first(), 7);
  bytes = 8;
  EXPECT_EQ(cuLaunchKernel(function("add"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Computing, RegistrationCanBeTakenBack) {
  ASSERT_EQ(simnode_register("add", add_on_host, nullptr), 1);
  ASSERT_EQ(simnode_register("add", nullptr, nullptr), 1);
  OK(launch(function("add"), nullptr, operands_.parameters));
  EXPECT_FLOAT_EQ(first(), 1);
}

TEST_F(Computing, FailuresSurfaceAtTheNextSynchronisationAndStay) {
  ASSERT_EQ(simnode_register("bad", fail_on_host, nullptr), 1);
  CUstream one = stream();
  EXPECT_EQ(launch("bad", one), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(one), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr pointer;
  EXPECT_EQ(cuMemAlloc(&pointer, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUcontext other;
  OK(make_context(&other, 0, 0));  // another context is not harmed
  OK(cuCtxSynchronize());
  OK(cuCtxDestroy(other));
}

TEST_F(Launches, WrongShapesAreRefused) {
  CUfunction kernel = function("k10");
  auto shaped = [&](unsigned gx, unsigned gy, unsigned bx, unsigned bz, unsigned shared) {
    return cuLaunchKernel(kernel, gx, gy, 1, bx, 1, bz, shared, nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(shaped(0, 1, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(1, 65536, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(1, 1, 1025, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(1, 1, 512, 64, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(1, 1, 32, 1, 60000), CUDA_ERROR_INVALID_VALUE);
  OK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
  EXPECT_EQ(shaped(1, 1, 32, 1, 60000), CUDA_SUCCESS);
  EXPECT_EQ(shaped(2147483647, 1, 32, 1, 0), CUDA_SUCCESS);
}

TEST_F(Launches, WrongParametersAreRefused) {
  CUfunction add = function("add");
  Operands operands{};
  operands.parameters[2] = nullptr;
  EXPECT_EQ(launch(add, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(add, nullptr, operands.parameters), CUDA_ERROR_INVALID_VALUE);
  void* end[] = {CU_LAUNCH_PARAM_END};
  EXPECT_EQ(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, end), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, nullptr, operands.parameters, end), CUDA_ERROR_INVALID_VALUE);
  operands = Operands{};
  EXPECT_EQ(cuLaunchKernel(add, 1, 1, 1, 512, 1, 1, 0, nullptr, operands.parameters, nullptr),
            CUDA_ERROR_INVALID_VALUE);  // .maxntid 256
}

TEST_F(Launches, WrongHandlesAreRefused) {
  EXPECT_EQ(launch(static_cast<CUfunction>(nullptr), nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(reinterpret_cast<CUfunction>(0xdeadbeef), nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(reinterpret_cast<CUfunction>(module_), nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch("k10", reinterpret_cast<CUstream>(0xdeadbeef)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Launches, ExtendedAndCooperativeFormsLaunchToo) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  OK(cuLaunchKernelEx(&config, function("k10"), nullptr, nullptr));
  config.attrs = nullptr;
  EXPECT_EQ(cuLaunchKernelEx(&config, function("k10"), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernelEx(nullptr, function("k10"), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  OK(cuLaunchCooperativeKernel(function("k10"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr));
  OK(cuCtxSynchronize());
}
