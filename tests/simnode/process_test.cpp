// What needs a process of its own: settings, exact counts whatever way a process ends, fork, exit with work under way.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <sys/wait.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Settings = std::map<std::string, std::string>;

struct Outcome {
  std::string output;  // stdout and stderr
  int status = -1;     // as wait gives it
};

Outcome run(const std::string& arguments, const Settings& settings) {
  std::string command = "env -u SIMNODE_GPUS -u SIMNODE_LAUNCH_US -u SIMNODE_KERNEL_US ";
  for (auto& [name, value] : settings) command += name + "='" + value + "' ";
  command += std::string("LD_LIBRARY_PATH=") + SIMNODE_LIBRARY_DIR + " timeout 60 " + SIMNODE_PROGRAM + " " +
             arguments + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  char part[4096];
  for (size_t read; (read = fread(part, 1, sizeof part, pipe)) > 0;) outcome.output.append(part, read);
  outcome.status = pclose(pipe);
  return outcome;
}

class Folder {
 public:
  Folder() {
    char made[] = "/tmp/simnode-counts-XXXXXX";
    path_ = mkdtemp(made);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_; }
  std::vector<nlohmann::json> documents() const {
    std::vector<nlohmann::json> all;
    for (auto& entry : fs::directory_iterator(path_)) all.push_back(nlohmann::json::parse(std::ifstream(entry.path())));
    return all;
  }

 private:
  std::string path_;
};

int count_of(const nlohmann::json& counts, const char* name) { return counts.value(name, 0); }

}  // namespace

TEST(Counts, AreExactWhateverWayTheProcessEnds) {
  for (const char* how : {"exit", "_exit", "kill", "quick_exit", "thread", "atexit", "unfinished"}) {
    Folder folder;
    run(std::string("leave ") + how, {{"SIMNODE_COUNTS", folder.path()}, {"SIMNODE_LAUNCH_US", "0"}});
    auto documents = folder.documents();
    ASSERT_EQ(documents.size(), 1u) << how;
    int expected = std::string(how) == "unfinished" ? 2234 : 1234;
    EXPECT_EQ(count_of(documents[0], "cuLaunchKernel"), expected) << how;
    EXPECT_EQ(count_of(documents[0], "cuInit"), 1) << how;
    EXPECT_FALSE(documents[0].contains("cuLaunchKernel_ptsz")) << how;
  }
}

TEST(Counts, OfSeveralThreadsAddUp) {
  Folder folder;
  run("threads", {{"SIMNODE_COUNTS", folder.path()}, {"SIMNODE_LAUNCH_US", "0"}});
  auto documents = folder.documents();
  ASSERT_EQ(documents.size(), 1u);
  EXPECT_EQ(count_of(documents[0], "cuLaunchKernel"), 120000);
  EXPECT_EQ(count_of(documents[0], "cuCtxSetCurrent"), 5);
}

TEST(Counts, ForkedChildrenHaveTheirOwn) {
  Folder folder;
  Outcome outcome = run("fork-before-init", {{"SIMNODE_COUNTS", folder.path()}, {"SIMNODE_LAUNCH_US", "0"}});
  EXPECT_EQ(outcome.output, "child sync 0\nchild sync 0\n");
  std::multiset<int> launches, versions;
  for (auto& document : folder.documents()) {
    launches.insert(count_of(document, "cuLaunchKernel"));
    versions.insert(count_of(document, "cuDriverGetVersion"));
  }
  EXPECT_EQ(launches, (std::multiset<int>{0, 10, 11}));
  EXPECT_EQ(versions, (std::multiset<int>{0, 0, 1}));
}

TEST(Counts, InAFolderThatCannotBeAreReportedOnceAndTheProgramRuns) {
  Outcome outcome = run("devices", {{"SIMNODE_COUNTS", "/proc/nowhere"}});
  EXPECT_NE(outcome.output.find("init 0 count 1"), std::string::npos) << outcome.output;
  size_t first = outcome.output.find("cannot open the counts");
  ASSERT_NE(first, std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("simnode[", first), std::string::npos) << outcome.output;
}

TEST(SettingsOfTheNode, AreUsed) {
  EXPECT_NE(run("devices", {}).output.find("count 1 "), std::string::npos);
  EXPECT_NE(run("devices", {{"SIMNODE_GPUS", "8"}}).output.find("init 0 count 8 "), std::string::npos);
  EXPECT_NE(run("devices", {{"SIMNODE_GPUS", "0"}}).output.find("init 100 "), std::string::npos);  // NO_DEVICE
  EXPECT_NE(run("devices", {{"SIMNODE_COMPUTE_CAPABILITY", "120"}}).output.find("12.0"), std::string::npos);
  EXPECT_NE(run("devices", {{"SIMNODE_DRIVER_VERSION", "12040"}}).output.find("version 12040"), std::string::npos);
}

TEST(SettingsOfTheNode, FirstMatchingPatternGivesTheDuration) {
  Settings settings{{"SIMNODE_KERNEL_US", "gemm*=120.5; qu?ck=3 ;*=7"}};
  EXPECT_EQ(run("duration gemm_a", settings).output, "gemm_a 120.500 us\n");
  EXPECT_EQ(run("duration quick", settings).output, "quick 3.000 us\n");
  EXPECT_EQ(run("duration quick", {{"SIMNODE_KERNEL_US", "*=7;quick=3"}}).output, "quick 7.000 us\n");
  EXPECT_EQ(run("duration quick", {}).output, "quick 10.000 us\n");
}

TEST(SettingsOfTheNode, MalformedOnesAreReportedInOneLineAndTheDefaultIsUsed) {
  struct Case {
    const char *name, *value, *arguments, *still;
  };
  const Case cases[] = {
      {"SIMNODE_GPUS", "many", "devices", "count 1 "},
      {"SIMNODE_GPUS", "-3", "devices", "count 1 "},
      {"SIMNODE_GPUS", "100000", "devices", "count 1 "},
      {"SIMNODE_LAUNCH_US", "fast", "devices", "init 0"},
      {"SIMNODE_LAUNCH_US", "-1", "devices", "init 0"},
      {"SIMNODE_LAUNCH_US", "nan", "devices", "init 0"},
      {"SIMNODE_KERNEL_US", "quick", "duration quick", "quick 10.000"},
      {"SIMNODE_KERNEL_US", "quick=soon;quick=4", "duration quick", "quick 4.000"},
      {"SIMNODE_KERNEL_US", "=5", "duration quick", "quick 10.000"},
      {"SIMNODE_EVENT_US", "soon", "duration quick", "quick 10.000"},
      {"SIMNODE_EVENT_DEVICE_US", "-1", "duration quick", "quick 11.300"},
      {"SIMNODE_EVENT_RESOLUTION_US", "fine", "devices", "init 0"},
      {"SIMNODE_START_US", "3 us", "devices", "init 0"},
      {"SIMNODE_EVENT_START_US", "-3", "devices", "init 0"},
      {"SIMNODE_BEHIND_US", "nan", "duration quick", "quick 11.400"},
      {"SIMNODE_SPREAD_PCT", "101", "devices", "init 0"},
      {"SIMNODE_DRIFT_PCT", "nan", "devices", "init 0"},
      {"SIMNODE_SEED", "one", "duration quick", "quick 10.000"},
      {"SIMNODE_OVERLAP_STRETCH", "0.5", "duration quick", "quick 10.000"},
      {"SIMNODE_QUEUE", "-1", "duration quick", "quick 10.000"},
      {"SIMNODE_DEVICE_PPM", "8 ppm", "duration quick", "quick 10.000"},
  };
  for (const Case& one : cases) {
    Outcome outcome = run(one.arguments, {{one.name, one.value}});
    EXPECT_NE(outcome.output.find(one.still), std::string::npos) << one.name << "=" << one.value << "\n"
                                                                 << outcome.output;
    std::smatch match;
    std::regex line("simnode\\[\\d+\\]: [^\n]*" + std::string(one.name) + "[^\n]*\n");
    ASSERT_TRUE(std::regex_search(outcome.output, match, line)) << outcome.output;
    EXPECT_EQ(match.suffix().str().find("simnode["), std::string::npos) << outcome.output;
  }
}

TEST(Processes, ForkedAfterInitAreNotInitialized) {
  Outcome outcome = run("fork-after-init", {});
  EXPECT_EQ(outcome.output, "child launch 3\nchild sync 3\nchild init 3\nchild device 3\nparent sync 0 child 0\n");
}

TEST(Processes, ExitWhileWorkersAndWaitersAreUnderWay) {
  Outcome outcome = run("leave-while-working", {});
  EXPECT_EQ(outcome.output, "leaving\n");
  ASSERT_TRUE(WIFEXITED(outcome.status));
  EXPECT_EQ(WEXITSTATUS(outcome.status), 0);
}

TEST(Processes, MayCallTheDriverFromExitHandlers) {
  Outcome outcome = run("leave atexit", {});
  EXPECT_EQ(outcome.output, "at exit 0\n");
  EXPECT_EQ(WEXITSTATUS(outcome.status), 3);
}

// Every function the header declares, under every name its macros give, is there.
TEST(Exports, HoldEveryFunctionOfTheHeader) {
  std::ifstream file(SIMNODE_CUDA_HEADER);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::set<std::string> names;
  std::regex declared(R"(CUresult\s+CUDAAPI\s+(cu\w+)\s*\()"), renamed(R"(#define\s+(cu[A-Z]\w+)\s+(cu[A-Z]\w+)\s)"),
      streamed(R"(#define\s+(cu[A-Z]\w+)\s+__CUDA_API_PT(SZ|DS)\((cu\w+)\))");
  for (std::sregex_iterator it(text.begin(), text.end(), declared), end; it != end; ++it) names.insert((*it)[1]);
  for (std::sregex_iterator it(text.begin(), text.end(), renamed), end; it != end; ++it) names.insert((*it)[2]);
  for (std::sregex_iterator it(text.begin(), text.end(), streamed), end; it != end; ++it) {
    names.insert((*it)[3]);
    names.insert((*it)[3].str() + ((*it)[2] == "SZ" ? "_ptsz" : "_ptds"));
  }
  names.erase("cuGetProcAddress_v2_ptsz");  // an inline function of the header
  ASSERT_GT(names.size(), 500u);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(driver, nullptr);
  for (const std::string& name : names) EXPECT_NE(dlsym(driver, name.c_str()), nullptr) << name;
  for (const char* name : {"cuGLGetDevices_v2", "cuProfilerStart", "cuProfilerStop"})
    EXPECT_NE(dlsym(driver, name), nullptr) << name;
}

TEST(Exports, ResolveToTheirOwnFunctionsEvenBesideOthersOfTheSameName) {
  // -Bsymbolic: this program's own cuLaunchKernel symbol (its PLT) must not be what the simulated driver's table holds.
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  using Ask = int (*)(const char*, void**, int, unsigned long long);
  void* function = nullptr;
  reinterpret_cast<Ask>(dlsym(driver, "cuGetProcAddress"))("cuLaunchKernel", &function, 11030, 0);
  Dl_info where{};
  ASSERT_NE(dladdr(function, &where), 0);
  EXPECT_NE(std::string(where.dli_fname).find("libcuda.so.1"), std::string::npos);
}

TEST(Topology, IsWrittenAsSysfsShowsIt) {
  Folder folder;
  Outcome outcome = run("devices", {{"SIMNODE_GPUS", "3"}, {"SIMNODE_SYSFS", folder.path()}});
  EXPECT_EQ(outcome.output.find("simnode["), std::string::npos) << outcome.output;
  int devices = 0;
  for (auto& entry : fs::directory_iterator(folder.path() + "/bus/pci/devices")) {
    ++devices;
    EXPECT_TRUE(std::regex_match(entry.path().filename().string(), std::regex("0000:[0-9a-f]{2}:00\\.0")));
    std::ifstream node(entry.path() / "numa_node"), cpus(entry.path() / "local_cpulist"),
        vendor(entry.path() / "vendor");
    int number = -1;
    std::string list, id;
    EXPECT_TRUE(node >> number && number >= 0);
    EXPECT_TRUE(cpus >> list && !list.empty());
    EXPECT_TRUE(vendor >> id && id == "0x10de");
  }
  EXPECT_EQ(devices, 3);
  outcome = run("devices", {{"SIMNODE_SYSFS", "/proc/nowhere"}});
  EXPECT_NE(outcome.output.find("init 0 count 1"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("SIMNODE_SYSFS"), std::string::npos) << outcome.output;
}

namespace {

Settings with_fault(const std::string& fault, Settings settings = {}) {
  settings["SIMNODE_FAULT"] = fault;
  return settings;
}

double us(const Outcome& outcome) { return atof(outcome.output.c_str()); }

}  // namespace

TEST(Fault, SlowGpuStretchesKernelsAndGraphsByItsFactor) {
  const Settings kernels{{"SIMNODE_KERNEL_US", "*=100"}};
  EXPECT_EQ(run("duration quick", with_fault("slow_gpu,amount=3", kernels)).output, "quick 300.000 us\n");
  EXPECT_EQ(run("duration quick", with_fault("slow_gpu,amount=0.5", kernels)).output, "quick 50.000 us\n");
  EXPECT_EQ(run("duration quick", with_fault("slow_gpu,amount=3;slow_gpu,amount=2", kernels)).output,
            "quick 600.000 us\n");
  EXPECT_EQ(run("graph-duration quick", kernels).output, "300.000 us\n");
  EXPECT_EQ(run("graph-duration quick", with_fault("slow_gpu,amount=4", kernels)).output, "1200.000 us\n");
}

// Lower bounds only: a busy machine makes gaps longer, never shorter.
TEST(Fault, LaunchDelayLeavesTheDeviceIdleBetweenKernels) {
  EXPECT_GE(us(run("gap launch", with_fault("launch_delay,amount=400"))), 10 * 400);
  EXPECT_GE(us(run("gap launch", with_fault("launch_delay,amount=4000"))), 10 * 4000);
}

TEST(Fault, LoadPauseLeavesTheDeviceIdleWhileModulesAreLoaded) {
  EXPECT_GE(us(run("gap load", with_fault("load_pause,amount=2"))), 10 * 2000);
  EXPECT_GE(us(run("gap load", with_fault("load_pause,amount=8"))), 10 * 8000);
}

TEST(Fault, AllocStallKeepsTheCallerAndDrainsTheDevice) {
  for (const char* what : {"gap alloc", "gap alloc-async"}) {
    EXPECT_GE(us(run(what, with_fault("alloc_stall,amount=500"))), 10 * 500) << what;
    EXPECT_GE(us(run(what, with_fault("alloc_stall,amount=5000"))), 10 * 5000) << what;
  }
  const Settings slow{{"SIMNODE_KERNEL_US", "gemm*=2000000"}};  // still running 2 s later, however busy the machine is
  EXPECT_EQ(run("drained", slow).output, "before 600 after 600\n");
  EXPECT_EQ(run("drained", with_fault("alloc_stall,amount=1", slow)).output, "before 600 after 0\n");
}

TEST(Fault, ActsOnlyOnItsRankAndInItsTime) {
  const Settings rank0{{"SIMNODE_KERNEL_US", "*=100"}, {"RANK", "0"}};
  EXPECT_EQ(run("duration quick", with_fault("slow_gpu,rank=0,amount=3", rank0)).output, "quick 300.000 us\n");
  EXPECT_EQ(run("duration quick", with_fault("slow_gpu,rank=1,amount=3", rank0)).output, "quick 100.000 us\n");
  EXPECT_EQ(run("duration quick", with_fault("slow_gpu,to_ms=0,amount=3", rank0)).output, "quick 100.000 us\n");
  EXPECT_EQ(run("duration quick", with_fault("slow_gpu,from_ms=600000,amount=3", rank0)).output, "quick 100.000 us\n");
}

TEST(Fault, OfTheWrongShapeIsReportedInOneLineAndTheOthersAct) {
  for (const char* bad :
       {"slow_gpu,amount=many", "slow_gpu,amount", "slow_gpu,amount=0", "slow_gpu,amount=-1", "no_such_kind",
        "slow_gpu,rank=x", "slow_gpu,colour=3", "slow_gpu,amount=nan", "=,=", "slow_gpu,rank=1.5"}) {
    const Outcome outcome =
        run("duration quick", with_fault(std::string(bad) + ";slow_gpu,amount=2", {{"SIMNODE_KERNEL_US", "*=100"}}));
    EXPECT_NE(outcome.output.find("quick 200.000 us"), std::string::npos) << bad << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("SIMNODE_FAULT"), std::string::npos) << bad << "\n" << outcome.output;
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 2) << bad << "\n" << outcome.output;
  }
}
