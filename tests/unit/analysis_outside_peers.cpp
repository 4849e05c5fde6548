// Who is at a socket's other end, by the names of descriptors: analysis/step_time/outside_peers.h
#include <gtest/gtest.h>

#include "analysis/step_time/outside_peers.h"

namespace hostprobe::analysis {
namespace {

class OutsidePeersTest : public testing::Test {
 protected:
  // A process whose only thread waited for these.
  void process(std::uint32_t pid, std::initializer_list<std::string_view> names) {
    Trace trace;
    trace.header.pid = pid;
    HostCalls calls;
    calls.threads.emplace_back();
    std::string area;
    for (const std::string_view name : names) {
      calls.threads[0].calls.emplace_back().name = static_cast<std::uint32_t>(area.size() / 8 + 1);
      const std::uint32_t length = static_cast<std::uint32_t>(name.size()), hash = 0;
      area.append(reinterpret_cast<const char*>(&length), 4)
          .append(reinterpret_cast<const char*>(&hash), 4)
          .append(name);
      area.resize((area.size() + 7) / 8 * 8);
    }
    trace.strings.put(0, reinterpret_cast<const std::byte*>(area.data()), area.size());
    peers_.add_process(trace);
    peers_.add_calls(trace, calls, 0);
  }
  OutsidePeers peers_;
};

TEST_F(OutsidePeersTest, AreThoseWhoseAddressNoProcessHas) {
  process(10, {"tcp 10.0.0.2:5000 from 10.0.0.1:41234", "tcp 10.0.0.1:29500 from 10.0.0.1:40000"});
  process(11, {"tcp 10.0.0.1:40000 from 10.0.0.1:29500"});
  EXPECT_EQ(peers_.of("tcp 10.0.0.2:5000 from 10.0.0.1:41234"), Peer::kElsewhere);
  EXPECT_EQ(peers_.of("tcp 10.0.0.1:29500 from 10.0.0.1:40000"), Peer::kOfJob);
  EXPECT_EQ(peers_.of("tcp 10.0.0.1:40000 from 10.0.0.1:29500"), Peer::kOfJob);
  EXPECT_EQ(peers_.of("udp [fe80::1]:53 from [fe80::2]:4000"), Peer::kElsewhere);
}

TEST_F(OutsidePeersTest, AreTheProcessesOfLocalSocketsThatAreNotRecorded) {
  process(10, {});
  EXPECT_EQ(peers_.of("unix /run/x process 10"), Peer::kOfJob);
  EXPECT_EQ(peers_.of("unix /run/x process 11"), Peer::kBeside);
  EXPECT_EQ(peers_.of("unix"), Peer::kOfJob);
}

TEST_F(OutsidePeersTest, AreNoFilesNoPipesAndNobody) {
  process(10, {});
  for (const char* name : {"", "/data/tcp 1", "pipe:[12]", "tcp from 0.0.0.0:80", "tcp ", "anon_inode:[eventfd]"})
    EXPECT_EQ(peers_.of(name), Peer::kOfJob) << name;
}

TEST(AwaitedThing, IsThePartThatLeadsAway) {
  EXPECT_EQ(awaited_thing("tcp 10.0.0.2:5000 from 10.0.0.1:41234"), "tcp 10.0.0.2:5000");
  EXPECT_EQ(awaited_thing("unix /run/x process 11"), "unix /run/x");
  EXPECT_EQ(awaited_thing("/data/from here/a process 1"), "/data/from here/a process 1");
  EXPECT_EQ(awaited_thing(""), "");
}

}  // namespace
}  // namespace hostprobe::analysis
