#include "node_test.h"

#include <cstring>
#include <set>

using Devices = NodeTest;

TEST_F(Devices, AreAsManyAsAskedFor) {
  int count = 0;
  OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 2);
}

TEST_F(Devices, BeyondTheLastOneAreInvalid) {
  CUdevice device;
  EXPECT_EQ(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  CUcontext context;
  EXPECT_EQ(make_context(&context, 0, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 99), CUDA_ERROR_INVALID_DEVICE);
  int value;
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Devices, DifferInPciIdAndUuid) {
  char first[32], second[32];
  CUuuid one, two;
  OK(cuDeviceGetPCIBusId(first, sizeof first, 0));
  OK(cuDeviceGetPCIBusId(second, sizeof second, 1));
  OK(cuDeviceGetUuid(&one, 0));
  OK(cuDeviceGetUuid(&two, 1));
  EXPECT_STRNE(first, second);
  EXPECT_NE(memcmp(&one, &two, sizeof one), 0);
  CUdevice found = -1;
  OK(cuDeviceGetByPCIBusId(&found, second));
  EXPECT_EQ(found, 1);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&found, "FFFF:00:00.0"), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Devices, AnswerEveryAttributeOfTheHeader) {
  for (int attribute = 1; attribute < CU_DEVICE_ATTRIBUTE_MAX; ++attribute) {
    int value;
    EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), 0), CUDA_SUCCESS) << attribute;
  }
  int value;
  EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(100000), 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Devices, HaveOnePrimaryContextThatIsCounted) {
  unsigned flags;
  int active;
  OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_EQ(active, 0);
  CUcontext first, second;
  OK(cuDevicePrimaryCtxRetain(&first, 1));
  OK(cuDevicePrimaryCtxRetain(&second, 1));
  EXPECT_EQ(first, second);
  OK(cuDevicePrimaryCtxRelease(1));
  OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_EQ(active, 1);
  OK(cuDevicePrimaryCtxRelease(1));
  OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_EQ(active, 0);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Devices, ReachEachOther) {
  int can = -1;
  OK(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  OK(cuDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
}
