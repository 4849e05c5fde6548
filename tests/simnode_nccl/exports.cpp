// Every public function is there twice, weak ncclX and strong pncclX, and what is not modelled says so.
#include "ranks.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <cstdlib>
#include <cstring>
#include <string>

struct ncclTeam;

namespace {

using ranks::Rank;

// Every function that NCCL 2.18 to 2.32 export, by functions.def, device_functions.def and the rest.
std::vector<std::string> all_names() {
  std::vector<std::string> names = {"ncclResetDebugInit",  "ncclCommQueryProperties",
                                    "ncclTeamWorld",       "ncclTeamLsa",
                                    "ncclTeamRail",        "ncclTeamCft",
                                    "ncclTeamCftMultimem", "ncclTeamRankToWorld",
                                    "ncclTeamRankToLsa",   "ncclLLA2ACalcSlots"};
#define NCCL_FUNCTION(result, name, parameters, arguments) names.push_back(#name);
#include "functions.def"
#undef NCCL_FUNCTION
#define NCCL_NOT_MODELLED(result, name, parameters, arguments) names.push_back(#name);
#include "device_functions.def"
#undef NCCL_NOT_MODELLED
  return names;
}

int binding_of(void* function) {
  Dl_info where;
  ElfW(Sym)* symbol = nullptr;
  if (dladdr1(function, &where, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0 || symbol == nullptr) return -1;
  return ELF64_ST_BIND(symbol->st_info);
}

TEST(Exports, HaveEveryFunctionUnderBothNames) {
  for (const std::string& name : all_names()) {
    void* weak = dlsym(RTLD_DEFAULT, name.c_str());
    void* strong = dlsym(RTLD_DEFAULT, ("p" + name).c_str());
    EXPECT_NE(weak, nullptr) << name;
    EXPECT_EQ(weak, strong) << name;
    int binding = binding_of(weak);
    EXPECT_TRUE(binding == STB_WEAK || binding == STB_GLOBAL) << name;
  }
}

// The list of a real library, where one is installed, has no name that ours lacks.
TEST(Exports, LackNothingThatARealLibraryHas) {
  const char* real = getenv("SIMNODE_NCCL_REAL_LIBRARY");
  if (real == nullptr || *real == '\0') GTEST_SKIP() << "no real libnccl.so.2 was found when this was configured";
  std::string command = "nm -D --defined-only " + std::string(real) + " | awk '{print $3}'";
  FILE* lines = popen(command.c_str(), "r");
  ASSERT_NE(lines, nullptr);
  char line[256];
  int count = 0;
  while (fgets(line, sizeof line, lines) != nullptr) {
    line[strcspn(line, "\n")] = '\0';
    bool is_public = strncmp(line, "nccl", 4) == 0 || strncmp(line, "pnccl", 5) == 0;
    if (!is_public || strstr(line, "Internal") != nullptr) continue;
    ++count;
    EXPECT_NE(dlsym(RTLD_DEFAULT, line), nullptr) << line;
  }
  pclose(lines);
  EXPECT_GT(count, 60);
}

TEST(Exports, WhatIsNotModelledIsInvalidUsageAndNamesItself) {
  ranks::run(1, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    EXPECT_EQ(ncclSignal(0, 0, 0, 0, communicator, rank.stream), ncclInvalidUsage);
    EXPECT_NE(strstr(ncclGetLastError(communicator), "ncclSignal is not modelled"), nullptr);
    EXPECT_EQ(ncclCommGrow(communicator, 2, nullptr, -1, &communicator, nullptr), ncclInvalidUsage);
  });
}

TEST(Exports, EveryResultHasItsText) {
  for (int result = 0; result < ncclNumResults; ++result)
    EXPECT_STRNE(ncclGetErrorString(static_cast<ncclResult_t>(result)), "unknown result code") << result;
  EXPECT_STREQ(ncclGetErrorString(static_cast<ncclResult_t>(4711)), "unknown result code");
}

}  // namespace
