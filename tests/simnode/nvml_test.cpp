// The simulated NVML through its public functions, as a program sees it. Two devices (main.cpp).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "nvml_types.h"

extern "C" {
nvmlReturn_t nvmlInit();
nvmlReturn_t nvmlInit_v2();
nvmlReturn_t nvmlInitWithFlags(unsigned);
nvmlReturn_t nvmlShutdown();
const char* nvmlErrorString(nvmlReturn_t);
nvmlReturn_t nvmlSystemGetDriverVersion(char*, unsigned);
nvmlReturn_t nvmlSystemGetProcessName(unsigned, char*, unsigned);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned*);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char*, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char*, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char*, unsigned);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t, char*, unsigned);
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t, PciInfo1*);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t, nvmlPciInfo_t*);
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t, unsigned, unsigned long*);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t*);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t, nvmlMemory_v2_t*);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t*);
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t, int, unsigned*);
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t, unsigned long long*);
nvmlReturn_t nvmlUnitGetCount(unsigned*);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t, int, unsigned*);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t, nvmlDevice_t, nvmlGpuTopologyLevel_t*);
nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t, nvmlGpuTopologyLevel_t, unsigned*, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t, unsigned*, nvmlProcessInfo_v1_t*);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t, unsigned*, nvmlProcessInfo_t*);
}

namespace {

class Nvml : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS); }
  void TearDown() override { EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS); }

  nvmlDevice_t device(unsigned index) {
    nvmlDevice_t handle = nullptr;
    EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(index, &handle), NVML_SUCCESS);
    return handle;
  }
  std::vector<nvmlProcessInfo_t> users(unsigned index) {
    std::vector<nvmlProcessInfo_t> found(256);
    auto count = static_cast<unsigned>(found.size());
    EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device(index), &count, found.data()), NVML_SUCCESS);
    found.resize(count);
    return found;
  }
  const nvmlProcessInfo_t* user(const std::vector<nvmlProcessInfo_t>& all, pid_t pid) {
    for (const nvmlProcessInfo_t& one : all)
      if (one.pid == static_cast<unsigned>(pid)) return &one;
    return nullptr;
  }
};

// simnode_program, started to use a device until its input closes.
class User {
 public:
  User() {
    int in[2], out[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execl(SIMNODE_PROGRAM, SIMNODE_PROGRAM, "use", nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    char ready;
    EXPECT_EQ(read(out[0], &ready, 1), 1);
    close(out[0]);
  }
  ~User() {
    close(input_);
    int status = -1;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_EQ(status, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  int input_;
};

TEST_F(Nvml, LimitsAndLinksAreAnswered) {
  unsigned celsius = 0, slowdown = 0, lanes = 0, units = 9;
  EXPECT_EQ(nvmlDeviceGetTemperatureThreshold(device(0), 0, &celsius), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetTemperatureThreshold(device(0), 1, &slowdown), NVML_SUCCESS);
  EXPECT_GT(celsius, slowdown);
  EXPECT_EQ(nvmlDeviceGetTemperatureThreshold(device(0), 4, &celsius), NVML_ERROR_NOT_SUPPORTED) << "acoustic";
  EXPECT_EQ(nvmlDeviceGetTemperatureThreshold(device(0), 8, &celsius), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetTemperatureThreshold(device(0), 0, nullptr), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetTemperatureThreshold(nullptr, 0, &celsius), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetCurrPcieLinkWidth(device(0), &lanes), NVML_SUCCESS);
  EXPECT_EQ(lanes, 16u);
  unsigned long long reasons = 0;
  EXPECT_EQ(nvmlDeviceGetCurrentClocksThrottleReasons(device(1), &reasons), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetCurrentClocksThrottleReasons(device(1), nullptr), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlUnitGetCount(&units), NVML_SUCCESS);
  EXPECT_EQ(units, 0u);
}

// Some programs look all of them up, and give up where one is missing.
TEST(NvmlExports, LackNoFunctionOfTheHeader) {
  std::ifstream header(SIMNODE_NVML_HEADER);
  if (!header) GTEST_SKIP() << "no nvml.h was found when this was configured";
  std::string text{std::istreambuf_iterator<char>(header), {}};
  std::regex declaration("DECLDIR +(nvml[A-Z][A-Za-z0-9_]*) *\\(");
  int count = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at, ++count)
    EXPECT_NE(dlsym(RTLD_DEFAULT, (*at)[1].str().c_str()), nullptr) << (*at)[1];
  EXPECT_GT(count, 300);
}

using OfDevice = nvmlReturn_t (*)(nvmlDevice_t, void*, void*);

TEST(NvmlExports, WhatIsNotModelledAsksForBeginAndDeviceFirstAndIsThenNotSupported) {
  std::vector<std::string> of_device, others;
#define NVML_OF_DEVICE(name) of_device.push_back(#name);
#define NVML_OTHER(name) others.push_back(#name);
#include "not_modelled.def"
  auto find = [](const std::string& name) { return reinterpret_cast<OfDevice>(dlsym(RTLD_DEFAULT, name.c_str())); };
  auto each = [&](const std::vector<std::string>& names, nvmlDevice_t device, nvmlReturn_t expected) {
    for (const std::string& name : names) {
      OfDevice function = find(name);
      ASSERT_NE(function, nullptr) << name;
      EXPECT_EQ(function(device, nullptr, nullptr), expected) << name;
    }
  };
  each(of_device, nullptr, NVML_ERROR_UNINITIALIZED);
  each(others, nullptr, NVML_ERROR_UNINITIALIZED);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  nvmlDevice_t device;
  ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(1, &device), NVML_SUCCESS);
  int wild = 0;
  each(of_device, nullptr, NVML_ERROR_INVALID_ARGUMENT);
  each(of_device, reinterpret_cast<nvmlDevice_t>(&wild), NVML_ERROR_INVALID_ARGUMENT);
  each(of_device, device, NVML_ERROR_NOT_SUPPORTED);
  each(others, nullptr, NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
}

}  // namespace

TEST(NvmlBeforeInit, EverythingIsUninitialized) {
  unsigned count = 7;
  char text[80];
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlSystemGetDriverVersion(text, sizeof text), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  ASSERT_EQ(nvmlInit(), NVML_SUCCESS);
  ASSERT_EQ(nvmlInitWithFlags(1), NVML_SUCCESS);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS) << "as many shutdowns as inits end it";
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
}

TEST_F(Nvml, DevicesAreFoundByIndexUuidAndBusId) {
  unsigned count = 0;
  ASSERT_EQ(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 2u);
  for (unsigned i = 0; i < count; ++i) {
    char uuid[96], name[96];
    nvmlPciInfo_t pci;
    nvmlDevice_t by_uuid, by_bus;
    unsigned index;
    ASSERT_EQ(nvmlDeviceGetUUID(device(i), uuid, sizeof uuid), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetPciInfo_v3(device(i), &pci), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetHandleByUUID(uuid, &by_uuid), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &by_bus), NVML_SUCCESS);
    EXPECT_EQ(by_uuid, device(i));
    EXPECT_EQ(by_bus, device(i));
    EXPECT_EQ(nvmlDeviceGetIndex(by_bus, &index), NVML_SUCCESS);
    EXPECT_EQ(index, i);
    EXPECT_EQ(nvmlDeviceGetName(device(i), name, sizeof name), NVML_SUCCESS);
    EXPECT_STREQ(name, "simnode GPU sm_90");
    EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2(pci.busIdLegacy, &by_bus), NVML_SUCCESS);
  }
}

TEST_F(Nvml, TheOldPciInfoIsNotWrittenPastItsEnd) {
  struct {
    PciInfo1 info;
    char behind[64];
  } room;
  memset(&room, 0x5a, sizeof room);
  ASSERT_EQ(nvmlDeviceGetPciInfo(device(1), &room.info), NVML_SUCCESS);
  EXPECT_STREQ(room.info.busId, "0000:2C:00.0");
  for (char c : room.behind) EXPECT_EQ(c, 0x5a);
}

TEST_F(Nvml, BadArgumentsAreTheErrorsNvmlDocuments) {
  nvmlDevice_t handle;
  char small[4];
  unsigned number;
  nvmlMemory_v2_t memory{};
  int foreign;
  auto wrong = reinterpret_cast<nvmlDevice_t>(&foreign);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(2, &handle), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(0, nullptr), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetHandleByUUID("GPU-none", &handle), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2("0000:00:00.0", &handle), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2("nonsense", &handle), NVML_ERROR_INVALID_ARGUMENT);
  for (nvmlDevice_t bad : {static_cast<nvmlDevice_t>(nullptr), wrong})
    EXPECT_EQ(nvmlDeviceGetIndex(bad, &number), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetName(device(0), small, sizeof small), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(nvmlDeviceGetFanSpeed(device(0), &number), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetClockInfo(device(0), 99, &number), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(device(0), &memory), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  EXPECT_EQ(nvmlSystemGetProcessName(0x7fffffff, small, sizeof small), NVML_ERROR_NOT_FOUND);
  EXPECT_STREQ(nvmlErrorString(static_cast<nvmlReturn_t>(12345)), "Unknown Error");
}

TEST_F(Nvml, TopologyAndCpusFollowTheNumaNodes) {
  nvmlGpuTopologyLevel_t level;
  ASSERT_EQ(nvmlDeviceGetTopologyCommonAncestor(device(0), device(1), &level), NVML_SUCCESS);
  EXPECT_TRUE(level == kTopologyNode || level == kTopologySystem);
  nvmlDevice_t nearest[4];
  unsigned count = 4;
  ASSERT_EQ(nvmlDeviceGetTopologyNearestGpus(device(0), kTopologySystem, &count, nearest), NVML_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(nearest[0], device(1));
  unsigned long cpus[64];
  ASSERT_EQ(nvmlDeviceGetCpuAffinity(device(0), 64, cpus), NVML_SUCCESS);
  unsigned long any = 0;
  for (unsigned long word : cpus) any |= word;
  EXPECT_NE(any, 0u);
}

TEST_F(Nvml, AnotherProcessIsSeenWithItsMemoryAndItsWorkUntilItEnds) {
  pid_t pid;
  {
    User other;
    pid = other.pid();
    const auto all = users(0);
    const nvmlProcessInfo_t* found = user(all, pid);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->usedGpuMemory, 3u << 20);
    EXPECT_EQ(user(users(1), pid), nullptr) << "it uses device 0 only";
    nvmlMemory_t memory;
    ASSERT_EQ(nvmlDeviceGetMemoryInfo(device(0), &memory), NVML_SUCCESS);
    EXPECT_GE(memory.used, 3u << 20);
    EXPECT_EQ(memory.used + memory.free, memory.total);
    unsigned none = 0;
    EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses(device(0), &none, nullptr), NVML_ERROR_INSUFFICIENT_SIZE);
    EXPECT_GE(none, 1u);
    // Its work fills the next minute; whole spans of the last second are looked at.
    nvmlUtilization_t rates{};
    for (int i = 0; i < 600 && rates.gpu < 90; ++i) {
      usleep(100000);
      ASSERT_EQ(nvmlDeviceGetUtilizationRates(device(0), &rates), NVML_SUCCESS);
    }
    EXPECT_GE(rates.gpu, 90u);
  }
  EXPECT_EQ(user(users(0), pid), nullptr);
}
