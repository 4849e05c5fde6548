// The jobs of a run folder, and what a command reads of it: analysis/trace/{jobs,job_groups,job_file}.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "analysis/run_answer.h"
#include "report/json/json.h"
#include "support/trace_file.h"
#include "trace/job_file.h"
#include "trace/jobs.h"

namespace hostprobe::analysis {
namespace {

using nlohmann::json;
using test::TraceFile;
using testing::ElementsAre;

class Jobs : public testing::Test {
 protected:
  // A process that lived between two seconds.
  static TraceFile process(std::uint32_t pid, double begin_s, double end_s, std::uint32_t parent = 0) {
    TraceFile file;
    file.header.pid = pid;
    file.header.parent_pid = parent;
    file.header.start = test::clock_at_us(1e6 * begin_s);
    file.header.first = test::clock_at_us(1e6 * begin_s + 10);
    file.header.last = test::clock_at_us(1e6 * end_s);
    file.hooks({test::wait_hook("sem_wait")});
    return file;
  }
  static TraceFile rank(int number, int world, std::uint32_t pid, double begin_s, double end_s,
                        std::uint32_t parent = 0) {
    TraceFile file = process(pid, begin_s, end_s, parent);
    file.header.rank = number;
    file.header.world_size = world;
    return file;
  }
  void keep(const TraceFile& file) {
    file.write(folder_.file("h-" + std::to_string(file.header.pid) + "-" +
                            std::to_string(file.header.start.monotonic_ns) + ".hptrace"));
  }
  // As `hostprobe run` leaves it.
  void job_file(std::uint32_t pid, double begin_s, double wall_s, const std::string& host = "testhost") {
    const std::uint64_t begin_ns = test::kStartRealtimeNs + static_cast<std::uint64_t>(1e9 * begin_s);
    const std::string name = host + "-" + std::to_string(pid) + "-" + std::to_string(begin_ns) + ".job.json";
    const auto seconds = static_cast<time_t>(begin_ns / 1'000'000'000);
    char started[32];
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime(&seconds));
    const json text = {{"schema", 1},
                       {"started", started},
                       {"host", host},
                       {"pid", pid},
                       {"argv", {"python3", std::to_string(pid) + ".py"}},
                       {"start_error", ""},
                       {"status", 0},
                       {"wall_s", wall_s}};
    TraceFile::write_bytes(folder_.file(name), text.dump());
  }
  // The processes of each job, by their ids.
  std::vector<std::vector<int>> pids() const {
    std::vector<std::vector<int>> all;
    for (const Job& job : jobs_of(folder_.path().string())) {
      std::vector<int>& own = all.emplace_back();
      for (const std::string& trace : job.traces) {
        const std::string name = trace.substr(trace.rfind('/') + 1);
        own.push_back(std::stoi(name.substr(name.find('-') + 1)));
      }
      std::sort(own.begin(), own.end());
    }
    return all;
  }
  json report(std::optional<unsigned> job = {}) {
    return json::parse(report_json(analyse_run(ChosenJob(folder_.path().string(), job), {}, {.cores = 1})));
  }
  test::TestFolder folder_;
};

using Pids = std::vector<int>;

TEST_F(Jobs, EachLaunchIsAJobWithWhatItStarted) {
  job_file(10, 0, 5);
  keep(process(10, 0, 5, 7));
  keep(process(11, 1, 4, 10));
  keep(process(12, 2, 3, 11));
  job_file(20, 5.5, 5);  // a shell in between that records nothing: its children are its job's
  keep(process(21, 6, 8, 20));
  keep(process(22, 8.5, 10, 20));
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 11, 12}, Pids{21, 22}));
}

TEST_F(Jobs, LaunchesAtTheSameTimeAreTwo) {
  job_file(10, 0, 9);
  job_file(20, 1, 9);
  keep(process(10, 0, 9));
  keep(process(20, 1, 9));
  keep(process(11, 2, 4, 10));
  keep(process(21, 2, 4, 20));
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 11}, Pids{20, 21}));
}

TEST_F(Jobs, NewestIsReadAndTheOthersAreNamed) {
  job_file(10, 0, 5);
  keep(process(10, 0, 5));
  job_file(20, 1481, 5);
  keep(process(20, 1481, 1485));
  const json newest = report();
  EXPECT_EQ(newest["run"]["job"], 2);
  ASSERT_EQ(newest["run"]["jobs"].size(), 2u);
  EXPECT_EQ(newest["run"]["jobs"][0]["command"], "python3 10.py");
  ASSERT_EQ(newest["processes"].size(), 1u);
  EXPECT_EQ(newest["processes"][0]["pid"], 20);
  EXPECT_LT(newest["run"]["wall_s"], 10) << "time between two jobs is of none";
  EXPECT_EQ(report(1)["processes"][0]["pid"], 10);
  EXPECT_THROW(report(3), std::invalid_argument);
}

TEST_F(Jobs, OneJobIsToldAsBeforeWithoutAWord) {
  job_file(10, 0, 5);
  keep(process(10, 0, 5));
  EXPECT_FALSE(report()["run"].contains("job"));
  EXPECT_FALSE(report()["run"].contains("jobs"));
}

TEST_F(Jobs, OfOtherJobsOnlyHeadsAreRead) {
  TraceFile damaged = process(10, 0, 5);
  std::string bytes = damaged.bytes();
  bytes.replace(kFileHeaderBytes, 64, std::string(64, 'x'));
  TraceFile::write_bytes(folder_.file("h-10-1.hptrace"), bytes);
  keep(process(20, 6, 8));
  const json newest = report(), oldest = report(1);
  EXPECT_TRUE(newest["unreadable"].empty());
  EXPECT_TRUE(newest["processes"][0]["damages"].empty());
  EXPECT_FALSE(oldest["processes"][0]["damages"].empty());
}

TEST_F(Jobs, WithoutJobFilesTheFamilyAndTheTimeTell) {
  keep(process(10, 0, 5, 7));
  keep(process(11, 4, 5, 10));
  keep(process(12, 5.5, 9, 10));   // started by the first, which was killed and whose last sign is older
  keep(process(20, 20, 25, 7));    // the same shell started it again
  keep(process(21, 21, 24, 999));  // by way of a process that does not record
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 11, 12}, Pids{20, 21}));
}

TEST_F(Jobs, NextProgramOfAProcessIsOfItsJob) {
  keep(process(10, 0, 1, 7));
  keep(process(10, 1.1, 5, 7));
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 10}));
}

TEST_F(Jobs, RanksStartedAgainAreOfTheSameJob) {
  for (int number = 0; number < 2; ++number)
    for (std::uint64_t again = 0; again < 2; ++again) {
      TraceFile file =
          rank(number, 2, static_cast<std::uint32_t>(10 + number + 2 * again), 10.0 * again, 10.0 * again + 5, 7);
      file.header.incarnation = again + 1;
      keep(file);
    }
  TraceFile next = rank(0, 2, 30, 40, 45, 7), other = rank(1, 2, 31, 40, 45, 7);
  next.header.incarnation = other.header.incarnation = 1;
  keep(next);
  keep(other);
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 11, 12, 13}, Pids{30, 31}));
}

TEST_F(Jobs, TwoSetsOfRanksAtATimeAreTwoJobs) {
  for (int number = 0; number < 2; ++number) {
    keep(rank(number, 2, static_cast<std::uint32_t>(10 + number), 0, 9, 7));
    keep(rank(number, 2, static_cast<std::uint32_t>(20 + number), 1, 9, 8));
  }
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 11}, Pids{20, 21}));
}

TEST_F(Jobs, LaunchPerRankIsOneJobOfAllThatCompleteEachOther) {
  for (int again = 0; again < 2; ++again)
    for (int number = 0; number < 3; ++number) {
      const auto pid = static_cast<std::uint32_t>(10 * (again + 1) + number);
      job_file(pid, 20 * again, 9);
      keep(rank(number, 3, pid, 20 * again, 20 * again + 9));
    }
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 11, 12}, Pids{20, 21, 22}));
}

TEST_F(Jobs, HostsOfOneJobMayHaveWrongClocks) {
  for (int number = 0; number < 2; ++number) {
    TraceFile file = rank(number, 2, static_cast<std::uint32_t>(10 + number), 1000.0 * number, 1000.0 * number + 5);
    test::set_text(file.header.host, "host" + std::to_string(number));
    keep(file);
  }
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 11}));
}

TEST_F(Jobs, SimulatedHostsAreOneMachine) {
  for (std::uint32_t again = 0; again < 2; ++again) {
    job_file(10 + 20 * again, 20.0 * again, 9);
    for (int number = 0; number < 2; ++number) {
      TraceFile file = rank(number, 2, 11 + 20 * again + static_cast<std::uint32_t>(number),
                            20.0 * again + 0.1 * number, 20.0 * again + 9, 10 + 20 * again);
      test::set_text(file.header.host, "testhost-sim" + std::to_string(number));
      keep(file);
    }
  }
  EXPECT_THAT(pids(), ElementsAre(Pids{11, 12}, Pids{31, 32}));
}

TEST_F(Jobs, KernelsRecordIsOfEachJobWhoseTimeItCovers) {
  keep(process(10, 0, 5));
  keep(process(20, 10, 15));
  keep(process(30, 20, 25));
  TraceFile kernel = process(99, 12, 22);
  kernel.header.source = kFromKernel;
  keep(kernel);
  EXPECT_THAT(pids(), ElementsAre(Pids{10}, Pids{20, 99}, Pids{30, 99}));
}

TEST_F(Jobs, ProfileIsOfTheJobOfItsProcess) {
  keep(process(10, 0, 5));
  keep(process(20, 10, 15));
  TraceFile profile = process(10, 1, 2);
  profile.header.source = kFromProfile;
  test::set_text(profile.header.host, "");
  keep(profile);
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 10}, Pids{20}));
}

TEST_F(Jobs, ImportedFilesAloneAreOneJob) {
  for (std::uint32_t pid : {10u, 20u}) {
    TraceFile profile = process(pid, pid, pid + 1);
    profile.header.source = kFromProfile;
    keep(profile);
  }
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 20}));
}

TEST_F(Jobs, LaunchThatRecordedNothingCountsAsLongAsItIsTheLast) {
  job_file(10, 0, 5);
  keep(process(10, 0, 5));
  job_file(20, 10, 1);
  EXPECT_THAT(pids(), ElementsAre(Pids{10}, Pids{}));
  job_file(30, 20, 5);
  keep(process(30, 20, 25));
  EXPECT_THAT(pids(), ElementsAre(Pids{10}, Pids{30}));
}

TEST_F(Jobs, DamagedHeadIsSeenInTheNewest) {
  keep(process(10, 0, 5));
  keep(process(20, 10, 15));
  TraceFile::write_bytes(folder_.file("h-15-1.hptrace"), std::string(100, 'x'));
  EXPECT_THAT(pids(), ElementsAre(Pids{10}, Pids{15, 20}));
}

TEST_F(Jobs, FolderOfRunsMeansItsNewest) {
  for (const char* name : {"a", "b", "c"}) std::filesystem::create_directories(folder_.file(name));
  process(10, 0, 5).write(folder_.file("a/h-10-1.hptrace"));
  process(20, 10, 15).write(folder_.file("b/h-20-1.hptrace"));
  const ChosenJob chosen(folder_.path().string());
  EXPECT_TRUE(chosen.is_newest_folder);
  EXPECT_EQ(chosen.path, folder_.file("b"));
  EXPECT_EQ(chosen.traces.size(), 1u);
}

TEST_F(Jobs, DifferentIdsAreDifferentJobsAlthoughTheirRanksCompleteEachOther) {
  for (int number = 0; number < 2; ++number) {
    TraceFile file = rank(number, 2, static_cast<std::uint32_t>(10 + number), 0, 9, 7);
    test::set_text(file.header.job, number == 0 ? "first" : "second");
    keep(file);
  }
  EXPECT_THAT(pids(), ElementsAre(Pids{10}, Pids{11}));
}

TEST_F(Jobs, RanksOfOneIdAreOneJobWhateverTheirHostsClocksAndWorldsSay) {
  for (int number = 0; number < 3; ++number) {
    TraceFile file =
        rank(number, 3 + number, static_cast<std::uint32_t>(10 + number), 1000.0 * number, 1000.0 * number + 5);
    test::set_text(file.header.host, "host" + std::to_string(number));
    test::set_text(file.header.job, "4711");
    keep(file);
  }
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 11, 12}));
}

TEST_F(Jobs, OfOneHostOnlyItsTracesAreKept) {
  for (int number = 0; number < 3; ++number) {
    TraceFile file = rank(number, 3, static_cast<std::uint32_t>(10 + number), 0, 5);
    test::set_text(file.header.host, number == 0 ? "first" : "other");
    test::set_text(file.header.job, "4711");
    keep(file);
  }
  ChosenJob chosen(folder_.path().string());
  EXPECT_THROW(chosen.keep_host("third"), std::invalid_argument);
  EXPECT_EQ(chosen.traces.size(), 3u);
  chosen.keep_host("other");
  EXPECT_EQ(chosen.traces.size(), 2u);
}

TEST_F(Jobs, AnIdThatRepeatsIsAJobForEachSetOfItsRanks) {
  for (std::uint32_t again = 0; again < 2; ++again)
    for (int number = 0; number < 2; ++number) {
      TraceFile file = rank(number, 2, 10 + 10 * again + static_cast<std::uint32_t>(number), 20.0 * again,
                            20.0 * again + 9, 7 + again);
      test::set_text(file.header.job, "4711");
      keep(file);
    }
  EXPECT_THAT(pids(), ElementsAre(Pids{10, 11}, Pids{20, 21}));
}

TEST_F(Jobs, FoldersOfOneJobThatLieBesideEachOtherAreReadAsOne) {
  for (int number = 0; number < 3; ++number) {
    const std::string name = "host" + std::to_string(number);
    std::filesystem::create_directories(folder_.file(name));
    TraceFile file = rank(number, 3, static_cast<std::uint32_t>(10 + number), number, 9);
    test::set_text(file.header.host, name);
    test::set_text(file.header.job, number == 1 ? "other" : "4711");
    file.write(folder_.file(name + "/h-" + std::to_string(10 + number) + "-1.hptrace"));
  }
  const ChosenJob chosen(folder_.path().string());
  EXPECT_FALSE(chosen.is_newest_folder);
  EXPECT_EQ(chosen.path, folder_.path().string());
  EXPECT_THAT(chosen.folders, ElementsAre(folder_.file("host0"), folder_.file("host2")));
  EXPECT_EQ(chosen.traces.size(), 2u);
}

TEST_F(Jobs, FoldersOfAnIdThatWasStartedAgainAreTwoJobs) {
  for (std::uint32_t again = 0; again < 2; ++again) {
    const std::string name = "run" + std::to_string(again);
    std::filesystem::create_directories(folder_.file(name));
    for (int number = 0; number < 2; ++number) {
      TraceFile file =
          rank(number, 2, 10 + 10 * again + static_cast<std::uint32_t>(number), 20.0 * again, 20.0 * again + 9, 7);
      test::set_text(file.header.job, "4711");
      file.write(folder_.file(name + "/h-" + std::to_string(file.header.pid) + "-1.hptrace"));
    }
  }
  const ChosenJob chosen(folder_.path().string());
  EXPECT_EQ(chosen.path, folder_.file("run1"));
  EXPECT_EQ(chosen.traces.size(), 2u);
}

TEST_F(Jobs, RanksThatWroteNothingAreNamed) {
  for (const int number : {0, 1, 5}) {
    TraceFile file = rank(number, 8, static_cast<std::uint32_t>(10 + number), 0, 9, 7);
    test::set_text(file.header.job, "4711");
    keep(file);
  }
  const json run = report()["run"];
  EXPECT_EQ(run["job_id"], "4711");
  EXPECT_EQ(run["world"], 8);
  EXPECT_EQ(run["unwritten_ranks"], json({2, 3, 4, 6, 7}));
}

TEST_F(Jobs, OfAWorldThatShrankTheLatestCounts) {
  for (int number = 0; number < 3; ++number) keep(rank(number, 3, static_cast<std::uint32_t>(10 + number), 0, 9, 7));
  for (int number = 0; number < 2; ++number) {
    TraceFile file = rank(number, 2, static_cast<std::uint32_t>(20 + number), 10, 19, 7);
    file.header.incarnation = 2;
    keep(file);
  }
  const json run = report()["run"];
  EXPECT_EQ(run["world"], 2);
  EXPECT_FALSE(run.contains("unwritten_ranks"));
}

TEST_F(Jobs, AWorldBeyondAllSenseNamesNobody) {
  keep(rank(0, 2000000000, 10, 0, 9, 7));
  EXPECT_FALSE(report()["run"].contains("unwritten_ranks"));
}

TEST_F(Jobs, StartOfAJobIsWhatItsFileSays) {
  job_file(10, 1, 2);
  const auto start = job_start(job_files(folder_.path().string()).at(0).path);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->program, "python3");
  EXPECT_TRUE(start->ended);
  EXPECT_FALSE(start->off);
  EXPECT_EQ(start->start_error, "");
}

TEST_F(Jobs, StartIsEmptyWhereItsFileHasOtherTypesAndNothingWhereItIsNone) {
  const std::string path = folder_.file("h-1-1.job.json");
  TraceFile::write_bytes(path, R"({"argv": 7, "target": [], "off": "yes", "start_error": null})");
  const auto start = job_start(path);
  ASSERT_TRUE(start);
  EXPECT_FALSE(start->program || start->off || start->ended);
  EXPECT_EQ(start->target + start->start_error + start->load_obstacle, "");
  TraceFile::write_bytes(path, "[{}]");
  EXPECT_FALSE(job_start(path));
  EXPECT_FALSE(job_start(folder_.file("absent.job.json")));
}

}  // namespace
}  // namespace hostprobe::analysis
