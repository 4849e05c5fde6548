#include "node_test.h"

#include <unistd.h>
#include <cstdio>
#include <cstring>

using Modules = NodeTest;

TEST_F(Modules, KnowKernelsAndGlobalsOfPtx) {
  unsigned count;
  OK(cuModuleGetFunctionCount(&count, module_));
  EXPECT_EQ(count, 7u);
  CUfunction found;
  EXPECT_EQ(cuModuleGetFunction(&found, module_, "commented_out"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetFunction(&found, module_, ""), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetFunction(nullptr, module_, "k10"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleGetFunction(&found, module_, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr table;
  size_t bytes;
  OK(cuModuleGetGlobal(&table, &bytes, module_, "table"));
  EXPECT_EQ(bytes, 96u);
  OK(cuMemsetD8(table, 1, 96));
  OK(cuModuleGetGlobal(nullptr, &bytes, module_, "counter"));
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(cuModuleGetGlobal(&table, &bytes, module_, "elsewhere"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Modules, LayParametersOutAsPtxSays) {
  CUfunction mixed = function("mixed");
  const size_t offsets[] = {0, 8, 16, 56}, sizes[] = {1, 8, 40, 2};
  for (size_t i = 0; i < 4; ++i) {
    size_t offset, bytes;
    OK(cuFuncGetParamInfo(mixed, i, &offset, &bytes));
    EXPECT_EQ(offset, offsets[i]) << i;
    EXPECT_EQ(bytes, sizes[i]) << i;
  }
  size_t offset;
  EXPECT_EQ(cuFuncGetParamInfo(mixed, 4, &offset, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncGetParamInfo(mixed, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Modules, TellNamesAndAttributes) {
  const char* name = nullptr;
  OK(cuFuncGetName(&name, function("add")));
  EXPECT_STREQ(name, "add");
  int value;
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function("add")));
  EXPECT_EQ(value, 256);
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function("add")));
  EXPECT_EQ(value, 512);
  EXPECT_EQ(cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(999), function("add")),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(function("add"), CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncGetName(&name, reinterpret_cast<CUfunction>(0x77)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Modules, SameNameGivesSameHandle) { EXPECT_EQ(function("k10"), function("k10")); }

TEST_F(Modules, UnknownContentIsAnError) {
  CUmodule made;
  const char noise[64] = {'\x01', '\x02', '\x03'};
  char elf[128] = "\177ELF\2\1\1";
  EXPECT_EQ(cuModuleLoadData(&made, noise), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&made, elf), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&made, ""), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&made, "hello, I am not PTX at all"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&made, ".version 7.0\n.target sm_50\n.entry broken("), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuModuleLoadData(&made, ".version 7.0\n.target sm_50\n.entry open() { ret;"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuModuleLoadData(&made, ".version 7.0\n.entry no_target() { ret; }"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuModuleLoadData(&made, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadData(nullptr, kPtx), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoad(&made, "/nowhere/at/all.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuModuleLoadData(&made, "simnode-module 1\nkernel k x\n"), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(Modules, LoadFromFilesAndOwnFormat) {
  char path[] = "/tmp/simnode-test-XXXXXX";
  int file = mkstemp(path);
  const char text[] = "simnode-module 1\n# comment\nkernel one 8 4 8\nkernel two\nglobal g 12\n";
  ASSERT_EQ(write(file, text, sizeof text - 1), static_cast<ssize_t>(sizeof text - 1));
  close(file);
  CUmodule made;
  OK(cuModuleLoad(&made, path));
  unlink(path);
  CUfunction one;
  OK(cuModuleGetFunction(&one, made, "one"));
  size_t offset, bytes;
  OK(cuFuncGetParamInfo(one, 2, &offset, &bytes));
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(bytes, 8u);
}

TEST_F(Modules, UnloadedTakeTheirFunctionsAlong) {
  CUfunction kernel = function("k10");
  OK(cuModuleUnload(module_));
  EXPECT_EQ(launch(kernel, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_ERROR_INVALID_HANDLE);
  CUfunction again;
  EXPECT_EQ(cuModuleGetFunction(&again, module_, "k10"), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Modules, LibrariesWorkInEveryContext) {
  CUlibrary library;
  CUkernel kernel;
  OK(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cuLibraryGetKernel(&kernel, library, "k10"));
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "nope"), CUDA_ERROR_NOT_FOUND);
  const char* name;
  OK(cuKernelGetName(&name, kernel));
  EXPECT_STREQ(name, "k10");
  OK(launch(reinterpret_cast<CUfunction>(kernel), nullptr));
  CUcontext other;
  OK(make_context(&other, 0, 1));
  OK(launch(reinterpret_cast<CUfunction>(kernel), nullptr));
  CUfunction here;
  OK(cuKernelGetFunction(&here, kernel));
  OK(launch(here, nullptr));
  OK(cuCtxDestroy(other));
  OK(cuLibraryUnload(library));
  EXPECT_EQ(launch(reinterpret_cast<CUfunction>(kernel), nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Modules, LinkedPartsMakeOneModule) {
  CUlinkState link;
  OK(cuLinkCreate(0, nullptr, nullptr, &link));
  std::string ptx = kPtx;
  OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx.data(), ptx.size() + 1, "a.ptx", 0, nullptr, nullptr));
  std::string other = ".version 7.0\n.target sm_50\n.visible .entry second(.param .u32 x) { ret; }\n";
  OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, other.data(), other.size() + 1, "b.ptx", 0, nullptr, nullptr));
  void* image;
  size_t bytes;
  OK(cuLinkComplete(link, &image, &bytes));
  CUmodule linked;
  OK(cuModuleLoadData(&linked, image));
  OK(cuLinkDestroy(link));
  CUfunction found;
  OK(cuModuleGetFunction(&found, linked, "second"));
  OK(cuModuleGetFunction(&found, linked, "add"));
  EXPECT_EQ(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Modules, OccupancyFollowsTheKernel) {
  int blocks = -1, grid, block;
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("k10"), 1024, 0));
  EXPECT_EQ(blocks, 2);
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("k10"), 128, 100000));
  EXPECT_EQ(blocks, 2);
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("add"), nullptr, 0, 0));
  EXPECT_EQ(block, 256);
  EXPECT_GT(grid, 0);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("k10"), 0, 0), CUDA_ERROR_INVALID_VALUE);
}
