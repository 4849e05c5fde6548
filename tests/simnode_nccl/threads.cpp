// The threads of a communicator: how many, when, how named, and that they sleep when there is nothing to do.
#include "ranks.h"

#include <dirent.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

using ranks::Rank;

struct ThreadSeen {
  int tid;
  std::string name;
  long cpu_ticks;
};

std::vector<ThreadSeen> threads() {
  std::vector<ThreadSeen> all;
  DIR* folder = opendir("/proc/self/task");
  while (dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    std::string path = std::string("/proc/self/task/") + entry->d_name;
    std::string name, stat;
    std::getline(std::ifstream(path + "/comm") >> std::ws, name);
    std::getline(std::ifstream(path + "/stat"), stat);
    long user = 0, system = 0;
    size_t after = stat.rfind(')');
    if (after == std::string::npos) continue;
    sscanf(stat.c_str() + after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system);
    all.push_back({atoi(entry->d_name), name, user + system});
  }
  closedir(folder);
  return all;
}

long named(const std::string& name) {
  auto all = threads();
  return std::count_if(all.begin(), all.end(), [&](const ThreadSeen& one) { return one.name == name; });
}

// A thread names itself, a moment after it was made.
void await_name(const std::string& name) {
  while (named(name) != 1) usleep(1000);
}

void use(const Rank& rank, ncclComm_t communicator) {
  auto* buffer = reinterpret_cast<float*>(rank.allocate(4));
  EXPECT_NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, communicator, rank.stream));
  rank.synchronize();
}

void expect_nccl_threads(const Rank& rank) {
  ncclComm_t communicator = rank.make_communicator();
  std::string number = std::to_string(rank.rank).insert(0, 1, ' ');
  for (const std::string& name : {"NCCL Service " + number, std::string("NCCL UDS Servic"), std::string("NCCL RAS")})
    await_name(name);
  EXPECT_EQ(named("NCCL Progress" + number), 0) << "not before the first operation";
  use(rank, communicator);
  await_name("NCCL Progress" + number);
  rank.enter_stage(1);
  EXPECT_NCCL(ncclCommDestroy(communicator));
  EXPECT_EQ(named("NCCL Progress" + number), 0);
  EXPECT_EQ(named("NCCL Service " + number), 0);
  EXPECT_EQ(named("NCCL RAS"), 1) << "outlives the communicators";
}

TEST(Threads, AreNamedAsNcclNamesThem) { ranks::run(2, expect_nccl_threads, {{"NCCL_SET_THREAD_NAME", "1"}}); }

TEST(Threads, AreTheSameWhenMadeByTheStandardLibrary) {
  ranks::run(2, expect_nccl_threads, {{"NCCL_SET_THREAD_NAME", "1"}, {"SIMNODE_NCCL_THREADS", "std"}});
}

TEST(Threads, HaveTheProgramsNameUnlessAskedForTheirOwn) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    use(rank, communicator);
    for (const ThreadSeen& one : threads()) EXPECT_EQ(one.name.find("NCCL"), std::string::npos) << one.name;
    rank.enter_stage(1);
  });
}

TEST(Threads, TheProgressThreadSleepsWhenNothingIsEnqueued) {
  ranks::run(2,
             [](const Rank& rank) {
               ncclComm_t communicator = rank.make_communicator();
               use(rank, communicator);
               rank.enter_stage(1);
               std::string name = std::to_string(rank.rank).insert(0, "NCCL Progress ");
               auto ticks = [&] {
                 for (const ThreadSeen& one : threads())
                   if (one.name == name) return one.cpu_ticks;
                 ADD_FAILURE() << "no " << name;
                 return 0L;
               };
               long before = ticks();
               usleep(300000);
               EXPECT_LE(ticks() - before, 1) << "of 30 hundredths of a second";
             },
             {{"NCCL_SET_THREAD_NAME", "1"}});
}

}  // namespace
