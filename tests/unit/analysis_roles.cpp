// What a thread is for: analysis/roles.cpp
#include <gtest/gtest.h>

#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/roles.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::TraceFile;

constexpr std::uint64_t kNccl = 0x100000, kCuda = 0x200000, kGomp = 0x300000, kProbe = 0x400000, kStdcxx = 0x500000;

class Roles : public testing::Test {
 protected:
  Roles() {
    file_.module(kNccl, kNccl + 0x10000, "/x/libnccl.so.2");
    file_.module(kCuda, kCuda + 0x10000, "/x/libcuda.so.1");
    file_.module(kGomp, kGomp + 0x10000, "/x/libgomp-a34b3233.so.1");
    file_.module(kProbe, kProbe + 0x10000, "/x/libhostprobe.so");
    file_.module(kStdcxx, kStdcxx + 0x10000, "/x/libstdc++.so.6");
  }
  Role role(const ThreadEntry& entry) {
    file_.strings(strings_);
    file_.thread(entry);
    file_.write(folder_.file("t.hptrace"));
    const Trace trace = read_trace(folder_.file("t.hptrace"));
    return role_of(trace, trace.threads.at({entry.tid, entry.start_ticks}), symbols_);
  }
  Role role_of_name(const char* name) { return role(test::thread_entry(9, name)); }
  Role role_of_type(const char* mangled) {
    ThreadEntry entry = test::thread_entry(9, "python3");
    entry.start_routine = kStdcxx + 0x10;
    entry.type_name = strings_.add(mangled);
    return role(entry);
  }
  Role role_started_in(std::uint64_t module, const char* name = "python3") {
    ThreadEntry entry = test::thread_entry(9, name);
    entry.start_routine = module + 0x10;
    return role(entry);
  }
  test::TestFolder folder_;
  test::StringArea strings_;
  TraceFile file_;
  Symbols symbols_;
};

TEST_F(Roles, FirstThreadIsMainWhateverItsName) {
  EXPECT_EQ(role(test::thread_entry(4242, "pt_autograd_0")), Role::kMain);
}

TEST_F(Roles, NamesOfPyTorchAndNcclTell) {
  const std::pair<const char*, Role> kTruth[] = {{"NCCL Progress 1", Role::kNcclProgress},
                                                 {"NCCL GIN Progre", Role::kNcclProgress},
                                                 {"NCCL Service 0", Role::kNcclService},
                                                 {"NCCL UDS Servic", Role::kNcclService},
                                                 {"NCCL RAS", Role::kNcclOther},
                                                 {"pt_autograd_3", Role::kAutograd},
                                                 {"pt_data_pin", Role::kPinMemory},
                                                 {"pt_data_worker", Role::kOther},
                                                 {"pt_gloo_runloop", Role::kGloo},
                                                 {"gloo_tcp_loop", Role::kGloo},
                                                 {"pt_nccl_watchdg", Role::kWatchdog},
                                                 {"cuda-EvtHandlr", Role::kCudaInternal},
                                                 {"cuda00001400006", Role::kCudaInternal},
                                                 {"hostprobe", Role::kHostprobe},
                                                 {"python3", Role::kOther}};
  for (const auto& [name, truth] : kTruth) EXPECT_EQ(role_of_name(name), truth) << name;
}

TEST_F(Roles, TypeBehindAStdThreadTells) {
  EXPECT_EQ(role_of_type("NSt6thread11_State_implINS_8_InvokerISt5tupleIJMN5torch8autograd6EngineEFvvEPS5_EEEEEE"),
            Role::kAutograd);
  EXPECT_EQ(role_of_type("NSt6thread11_State_implINS_8_InvokerISt5tupleIJMN4c10d16ProcessGroupGlooEFviEPS4_iEEEEEE"),
            Role::kGloo);
  EXPECT_EQ(role_of_type("NSt6thread11_State_implINS_8_InvokerISt5tupleIJMN4gloo9transport3tcp4LoopEFvvEPS6_EEEEEE"),
            Role::kGloo);
  EXPECT_EQ(role_of_type("NSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEE"), Role::kOther);
}

TEST_F(Roles, ModuleOfTheStartRoutineTells) {
  EXPECT_EQ(role_started_in(kCuda), Role::kCudaInternal);
  EXPECT_EQ(role_started_in(kGomp), Role::kOpenmp);
  EXPECT_EQ(role_started_in(kProbe), Role::kHostprobe);
  EXPECT_EQ(role_started_in(kNccl), Role::kNcclOther);
  EXPECT_EQ(role_started_in(kNccl, "NCCL Progress 0"), Role::kNcclProgress);
}

TEST_F(Roles, HowAThreadWasMadeOutweighsANameItInherited) {
  EXPECT_EQ(role_started_in(kCuda, "pt_autograd_0"), Role::kCudaInternal);
}

TEST_F(Roles, PythonStacksShowTheLoadersThreads) {
  const auto frame = strings_.add("_pin_memory_loop (pin_memory.py:40)");
  file_.hooks({test::wait_hook("sem_wait")});
  file_.stack(0, {}, {frame});
  file_.calls(9, 0, {{.begin_us = 1, .end_us = 2, .stack = 1}});
  EXPECT_EQ(role(test::thread_entry(9, "python3")), Role::kPinMemory);
}

TEST_F(Roles, FirstThreadOfALoadersWorkerIsTheLoaders) {
  file_.header.forked_from = 4000;
  EXPECT_EQ(role(test::thread_entry(4242, "pt_data_worker")), Role::kDataloader);
}

TEST_F(Roles, FirstThreadOfAnyOtherForkedProcessIsMain) {
  file_.header.forked_from = 4000;
  EXPECT_EQ(role(test::thread_entry(4242, "python3")), Role::kMain);
}

}  // namespace
}  // namespace hostprobe::analysis
