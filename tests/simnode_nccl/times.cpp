// The model of time, read from the streams' virtual clock (events), never from the wall clock: what a collective costs, and
// that a fault planted on one rank lengthens it on all of them through the chunks, as much as it should.
#include "ranks.h"
#include "simnode.h"

#include <unistd.h>
#include <algorithm>
#include <cmath>

namespace {

using ranks::Environment;
using ranks::Rank;

constexpr int kRanks = 4;
constexpr size_t kChunkBytes = 64 << 10;  // NCCL_BUFFSIZE / 8
constexpr int kRepeats = 5;

struct Times {
  double ms[kRanks];
  double slowest() const { return *std::max_element(ms, ms + kRanks); }
  double fastest() const { return *std::min_element(ms, ms + kRanks); }
};

using Operation = std::function<void(const Rank&, ncclComm_t, char* buffer, size_t bytes)>;

void all_reduce(const Rank& rank, ncclComm_t communicator, char* buffer, size_t bytes) {
  EXPECT_NCCL(ncclAllReduce(buffer, buffer, bytes / 4, ncclFloat32, ncclSum, communicator, rank.stream));
}

void send_receive(const Rank& rank, ncclComm_t communicator, char* buffer, size_t bytes) {
  EXPECT_NCCL(ncclGroupStart());
  EXPECT_NCCL(ncclSend(buffer, bytes, ncclUint8, (rank.rank + 1) % rank.ranks, communicator, rank.stream));
  EXPECT_NCCL(
      ncclRecv(buffer + bytes, bytes, ncclUint8, (rank.rank + rank.ranks - 1) % rank.ranks, communicator, rank.stream));
  EXPECT_NCCL(ncclGroupEnd());
}

// A kernel that is still running when all ranks have enqueued what is measured, and a collective after which all streams
// stand at the same virtual time: so no rank's share of it is waiting for the host of another.
class Gate {
 public:
  explicit Gate(const Rank& rank) : rank_(rank) {
    CUmodule module;
    EXPECT_EQ(cuModuleLoadData(&module, "simnode-module 1\nkernel gate\n"), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&function_, module, "gate"), CUDA_SUCCESS);
  }
  void close(ncclComm_t communicator, char* buffer) const {
    EXPECT_EQ(cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, rank_.stream, nullptr, nullptr), CUDA_SUCCESS);
    all_reduce(rank_, communicator, buffer, 4);
  }

 private:
  const Rank& rank_;
  CUfunction function_;
};

// Virtual time of the operation on each rank: the least of some repeats, for a rank whose host was late after all.
Times time_of(const Operation& operation, size_t bytes, Environment environment = {}, int count = kRanks) {
  environment.insert({{"NCCL_BUFFSIZE", std::to_string(8 * kChunkBytes)}, {"SIMNODE_KERNEL_US", "gate=50000;*=10"}});
  environment.insert({{"NCCL_P2P_NET_CHUNKSIZE", std::to_string(kChunkBytes)}});
  ranks::Shared told = ranks::run(
      count,
      [&](const Rank& rank) {
        ncclComm_t communicator = rank.make_communicator();
        auto* buffer = reinterpret_cast<char*>(rank.allocate(2 * bytes));
        operation(rank, communicator, buffer, bytes);
        rank.synchronize();
        Gate gate(rank);
        double best = 1e9;
        for (int i = 0; i < kRepeats; ++i) {
          rank.enter_stage(i + 1);
          gate.close(communicator, buffer);
          double ms = ranks::timed_ms(rank, [&] { operation(rank, communicator, buffer, bytes); });
          best = std::min(best, ms);
        }
        rank.shared->number[rank.rank][0] = best;
        rank.enter_stage(kRepeats + 1);
      },
      environment);
  Times times{};
  for (int rank = 0; rank < std::min(count, kRanks); ++rank) times.ms[rank] = told.number[rank][0];
  return times;
}

Environment fault(const std::string& text) { return {{"SIMNODE_FAULT", text}}; }

TEST(Time, OfACollectiveGrowsWithItsBytes) {
  double small = time_of(all_reduce, 1 << 20).slowest(), large = time_of(all_reduce, 8 << 20).slowest();
  EXPECT_GT(large, 4 * small);
  EXPECT_LT(large, 12 * small);
}

TEST(Time, FollowsBandwidthAndLatencyOfTheLinks) {
  double fast = time_of(all_reduce, 8 << 20, {{"SIMNODE_LINK_GBPS", "100"}}).slowest();
  double slow = time_of(all_reduce, 8 << 20, {{"SIMNODE_LINK_GBPS", "5"}}).slowest();
  // 1.5 * 8 MiB over the link of each rank.
  EXPECT_NEAR(slow - fast, 1.5 * (8 << 20) * (1 / 5e9 - 1 / 100e9) * 1e3, 0.3);
  double near = time_of(all_reduce, 4096, {{"SIMNODE_LINK_US", "1"}}).slowest();
  double far = time_of(all_reduce, 4096, {{"SIMNODE_LINK_US", "201"}}).slowest();
  EXPECT_NEAR(far - near, 4 * 0.2, 0.2) << "up a tree of four ranks and down again";
}

TEST(Time, LinksBetweenHostsAreTheSlowerOnes) {
  Environment links = {{"SIMNODE_LINK_GBPS", "100,2"}};
  double one_host = time_of(all_reduce, 4 << 20, links).slowest();
  links.insert({"SIMNODE_HOSTS", "2"});
  double two_hosts = time_of(all_reduce, 4 << 20, links).fastest();
  EXPECT_GT(two_hosts, 10 * one_host);
}

// Modelled time does not depend on what else the machine does, so this is not a bet on a quiet one.
TEST(Time, WithoutFaultsTwoRunsAgree) {
  Times first = time_of(all_reduce, 4 << 20), second = time_of(all_reduce, 4 << 20);
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_NEAR(second.ms[rank], first.ms[rank], 0.1 * first.ms[rank]) << rank;
}

// Before each collective the thread that is rank 1's device is kept for 30 ms that the model knows nothing of.
TEST(Time, DoesNotDependOnWhenADevicesThreadGetsThere) {
  Operation late = [](const Rank& rank, ncclComm_t communicator, char* buffer, size_t bytes) {
    simnode_kernel sleep = [](const simnode_launch*, void*) { return usleep(30000); };
    CUmodule module;
    CUfunction kernel;
    EXPECT_EQ(cuModuleLoadData(&module, "simnode-module 1\nkernel before\n"), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&kernel, module, "before"), CUDA_SUCCESS);
    if (rank.rank == 1) {
      EXPECT_EQ(simnode_register("before", sleep, nullptr), 1);
    }
    EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, rank.stream, nullptr, nullptr), CUDA_SUCCESS);
    all_reduce(rank, communicator, buffer, bytes);
  };
  Times expected = time_of(all_reduce, 4 << 20), times = time_of(late, 4 << 20);
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_NEAR(times.ms[rank], expected.ms[rank] + 0.01, 0.02) << rank;
}

// About chunks * X on all ranks, X of them on the one that has the fault, none by any shortcut.
TEST(ProxyDelay, OfOneRankLengthensTheCollectiveByChunksTimesItOnAllRanks) {
  constexpr size_t kChunks = 64;
  Times healthy = time_of(all_reduce, kChunks * kChunkBytes);
  for (double delay_us : {20.0, 100.0}) {
    Times slow =
        time_of(all_reduce, kChunks * kChunkBytes, fault("proxy_delay,rank=2,amount=" + std::to_string(delay_us)));
    double expected_ms = kChunks * delay_us / 1000;
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_GT(slow.ms[rank] - healthy.ms[rank], 0.7 * expected_ms) << "rank " << rank << " delay " << delay_us;
      EXPECT_LT(slow.ms[rank] - healthy.ms[rank], 1.5 * expected_ms) << "rank " << rank << " delay " << delay_us;
    }
  }
}

TEST(ProxyDelay, GrowsWithTheNumberOfChunks) {
  Environment delay = fault("proxy_delay,rank=1,amount=200");
  double few = time_of(all_reduce, 8 * kChunkBytes, delay).slowest();
  double many = time_of(all_reduce, 64 * kChunkBytes, delay).slowest();
  EXPECT_GT(many, 5 * few);
}

TEST(ProxyDelay, OfARankThatSendsOrReceivesLengthensThatMessage) {
  constexpr size_t kChunks = 64;
  Times healthy = time_of(send_receive, kChunks * kChunkBytes);
  Times slow = time_of(send_receive, kChunks * kChunkBytes, fault("proxy_delay,rank=1,amount=100"));
  for (int rank : {1, 2}) EXPECT_GT(slow.ms[rank] - healthy.ms[rank], 0.7 * kChunks * 0.1) << rank;
  EXPECT_LT(slow.ms[3] - healthy.ms[3], 0.3 * kChunks * 0.1) << "neither sends to rank 1 nor receives from it";
}

TEST(SlowLink, OfOneRankSlowsAllRanks) {
  Times healthy = time_of(all_reduce, 8 << 20, {{"SIMNODE_LINK_GBPS", "10"}});
  Environment environment = fault("slow_link,rank=3,amount=4");
  environment.insert({"SIMNODE_LINK_GBPS", "10"});
  Times slow = time_of(all_reduce, 8 << 20, environment);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_GT(slow.ms[rank], 3 * healthy.ms[rank]);
    EXPECT_LT(slow.ms[rank], 5 * healthy.ms[rank]);
  }
}

TEST(LinkLatency, OfOneRankDelaysAllRanks) {
  Times healthy = time_of(all_reduce, 4096);
  Times slow = time_of(all_reduce, 4096, fault("link_latency,rank=0,amount=500"));
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_GT(slow.ms[rank] - healthy.ms[rank], 0.5);
}

TEST(Faults, ActOnlyInTheirWindowAndOnTheirRank) {
  Times healthy = time_of(all_reduce, 8 << 20);
  Times over = time_of(all_reduce, 8 << 20, fault("proxy_delay,rank=2,from_ms=900000,amount=1000"));
  Times nobody = time_of(all_reduce, 8 << 20, fault("proxy_delay,rank=17,amount=1000"));
  EXPECT_LT(over.slowest(), 2 * healthy.slowest());
  EXPECT_LT(nobody.slowest(), 2 * healthy.slowest());
}

double now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

TEST(MissingRank, StopsEnteringCollectivesAndTheOthersWait) {
  double start_ms = now_ms();  // before any rank's cuInit
  ranks::run(
      2,
      [start_ms](const Rank& rank) {
        ncclComm_t communicator = rank.make_communicator();
        auto* buffer = reinterpret_cast<float*>(rank.allocate(4));
        EXPECT_NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, communicator, rank.stream));
        EXPECT_GE(now_ms() - start_ms, 190) << "rank 1 came when the fault was over, and it is the first collective";
        rank.synchronize();
      },
      fault("missing_rank,rank=1,to_ms=200"));
}

TEST(MissingRank, ShowsAsTimeOnTheStreamsOfTheOthers) {
  ranks::Shared told = ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    auto* buffer = reinterpret_cast<char*>(rank.allocate(4096));
    float ms = ranks::timed_ms(rank, [&] { all_reduce(rank, communicator, buffer, 4096); });
    // Connected at once; the second collective is where rank 1 is late.
    rank.enter_stage(1);
    if (rank.rank == 1) usleep(100000);
    ms = ranks::timed_ms(rank, [&] { all_reduce(rank, communicator, buffer, 4096); });
    rank.shared->number[rank.rank][0] = ms;
    rank.enter_stage(2);
  });
  EXPECT_GT(told.number[0][0], 90) << "rank 0 waits for rank 1 on its stream";
  EXPECT_LT(told.number[1][0], 90);
}

}  // namespace
