// A profile that is read from its begin and from its middle on at a time: import/kineto/profile_reader.cpp, profile.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "import/kineto/profile.h"
#include "import/kineto/profile_reader.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

std::string text_of(const ProfileEvent& event) {
  std::string all;
  for (const std::string& text : event.texts) all += text + '|';
  return all + std::to_string(event.at) + '\n';
}

std::string text_of(const LeftOut& left_out) {
  std::string all;
  for (const auto& [what, kind] : left_out.kinds())
    all += what + ' ' + std::to_string(kind.count) + ' ' + std::to_string(kind.first_byte.value_or(0)) + '\n';
  return all;
}

std::string text_of(const ProfileHead& head) {
  return head.base_time_ns + '|' + head.rank + '|' + head.world_size + '|' + head.host + '|' + head.name;
}

class ProfileHalves : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string read_in_one() {
    LeftOut left_out;
    std::string events;
    const auto add = [&](const ProfileEvent& event) { events += text_of(event); };
    const ProfileReading reading = read_profile(path_, add, left_out);
    if (!reading.problem.empty()) return "problem";
    return events + std::to_string(reading.events) + text_of(reading.head) + text_of(left_out);
  }
  // "" where it is not to be read so.
  std::string read_in_halves() {
    LeftOut left_out[2];
    std::string events[2];
    const OnProfileEvent add = [&](const ProfileEvent& event) { events[0] += text_of(event); };
    const OnProfileEvent add_later = [&](const ProfileEvent& event) { events[1] += text_of(event); };
    const auto reading = read_profile_halves(path_, {add, left_out[0]}, {add_later, left_out[1]}, {}, 1);
    if (!reading) return "";
    left_out[0].add(left_out[1]);
    were_both_told_ = !events[0].empty() && !events[1].empty();
    return events[0] + events[1] + std::to_string(reading->events) + text_of(reading->head) + text_of(left_out[0]);
  }
  test::TestFolder folder_;
  const std::string path_ = folder_.file("profile.json");
  bool were_both_told_ = false;
};

std::string event_text(int number) {
  return R"({"ph": "X", "cat": "kernel", "name": "k)" + std::to_string(number) +
         R"( \"}, {\" caf\u00e9", "pid": 0, "ts": )" + std::to_string(number) +
         R"(.5, "dur": 1, "args": {"grid": [1, 2, 3], "list": [{"b": [{}, {}]}]}})";
}

std::string list_of(int events, const std::string& between = ",\n  ") {
  std::string list = "[\n  ";
  for (int i = 0; i < events; ++i) list += (i == 0 ? "" : between) + event_text(i);
  return list + "\n]";
}

const std::string kBefore = R"({"schemaVersion": 1, "distributedInfo": {"rank": 3}, "host_name": "a", "traceEvents": )";

TEST_F(ProfileHalves, TellTheSameAsTheWhole) {
  for (const char* behind :
       {"}", ", \"traceName\": \"n\", \"host_name\": \"b\"}", "\n ,\"more\": [1, {\"x\": {}}] }\n"}) {
    write(kBefore + list_of(40) + behind);
    EXPECT_EQ(read_in_halves(), read_in_one()) << behind;
    EXPECT_TRUE(were_both_told_);
  }
  write(list_of(40));
  EXPECT_EQ(read_in_halves(), read_in_one()) << "the document is the list";
  std::string list = list_of(40);
  list.insert(1, "17, null, ").insert(list.size() - 1, ", \"no event\"");
  write(kBefore + list + "}");
  EXPECT_EQ(read_in_halves(), read_in_one()) << "elements that are no events";
}

// A comma inside of an event was taken for one between two of them.
TEST_F(ProfileHalves, AreNoneWhereTheTextMisleads) {
  const std::string inner = R"({"ph": "X", "args": {"list": [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}, {"a": 5}]}})";
  write("[" + inner + "]");
  EXPECT_EQ(read_in_halves(), "");
  write(R"({"other": [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}, {"a": 5}], "traceEvents": []})");
  EXPECT_EQ(read_in_halves(), "") << "the list is another one";
  write(kBefore + list_of(40, ",") + "}");
  EXPECT_EQ(read_in_halves(), "") << "no room between events";
  write(kBefore + "[]}");
  EXPECT_EQ(read_in_halves(), "");
}

// Whoever reads it whole says where it is wrong.
TEST_F(ProfileHalves, AreNoneOfADamagedText) {
  const std::string whole = kBefore + list_of(6) + ", \"traceName\": \"n\"}";
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    write(whole.substr(0, bytes));
    EXPECT_EQ(read_in_halves(), "") << bytes;
  }
  for (std::size_t at = 0; at < whole.size(); at += 2)
    for (const char other : {'}', ']', ',', '"', '[', '\0'}) {
      std::string damaged = whole;
      damaged[at] = other;
      write(damaged);
      const std::string halves = read_in_halves();
      EXPECT_TRUE(halves.empty() || halves == read_in_one()) << at << ' ' << other;
    }
  write(kBefore + list_of(40) + ",}");
  EXPECT_EQ(read_in_halves(), "");
}

TEST_F(ProfileHalves, AreNoneOfAShortText) {
  write(kBefore + list_of(40) + "}");
  LeftOut left_out;
  const OnProfileEvent add = [](const ProfileEvent&) {};
  EXPECT_FALSE(read_profile_halves(path_, {add, left_out}, {add, left_out}));
  EXPECT_FALSE(read_profile_halves(folder_.file("missing"), {add, left_out}, {add, left_out}));
}

ProfileEvent event_of(std::vector<std::pair<ProfileField, std::string>> fields) {
  ProfileEvent event;
  event[ProfileField::kPhase] = "X";
  for (auto& [field, text] : fields) event[field] = std::move(text);
  return event;
}

// Calls, ranges, steps, collectives and activities of four processes, two of whose ids are none; names come late.
std::vector<ProfileEvent> mixed_events() {
  using Field = ProfileField;
  std::vector<ProfileEvent> events;
  const char* const pids[] = {"12", "Spans", "7", "none"};
  for (int i = 0; i < 48; ++i) {
    const std::string pid = pids[i % 4], tid = i % 5 == 0 ? "PyTorch" : std::to_string(100 + i % 3);
    const std::string time = std::to_string(1000 - i), name = "name " + std::to_string(i % 7);
    const auto at = [&](const char* category, const std::string& own) {
      return event_of({{Field::kCategory, category},
                       {Field::kName, own},
                       {Field::kPid, pid},
                       {Field::kTid, tid},
                       {Field::kTime, time},
                       {Field::kDuration, i % 6 == 0 ? "" : "3"}});
    };
    events.push_back(at("cuda_runtime", "call " + name));
    events.push_back(at("cpu_op", name));
    events.push_back(at("user_annotation", "ProfilerStep#" + std::to_string(i)));
    events.push_back(at("user_annotation", "nccl:all_reduce"));
    events.push_back(at("kernel", "kernel " + name));
    events.push_back(at("Trace", "watched"));
    events.push_back(at("unheard of", name));
    ProfileEvent collective = at("cpu_op", "record_param_comms");
    collective[Field::kCollective] = "allreduce";
    collective[Field::kGroupName] = "group" + std::to_string(i % 2);
    collective[Field::kGroupRanks] = "[0, 1]";
    events.push_back(collective);
    ProfileEvent named = at("", i % 2 == 0 ? "process_name" : "thread_name");
    named[Field::kPhase] = "M";
    named[Field::kOwnName] = "called " + std::to_string(i);
    events.push_back(named);
  }
  for (std::size_t i = 0; i < events.size(); ++i) events[i].at = 100 * i;
  return events;
}

std::string text_of(const Profile& profile, const ProfileSpan& span) {
  return std::to_string(span.begin_ns) + '+' + std::to_string(span.duration_ns) + ' ' + profile.name(span.name) +
         " at " + std::to_string(span.at);
}

std::string text_of(Profile& profile) {
  std::string all;
  for (const auto& [id, process] : profile.processes()) {
    all += "process " + id + ' ' + std::to_string(process.pid) + ' ' + process.name + '\n';
    for (const ProfileThread& thread : process.threads) all += std::to_string(thread.tid) + ' ' + thread.name + '\n';
    const auto add = [&](const auto& one, const std::string& more) {
      all += text_of(profile, one.span) + ' ' + std::to_string(one.thread) + ' ' + more + '\n';
    };
    for (const ProfileCall& one : process.calls) add(one, std::to_string(one.correlation));
    for (const ProfileRange& one : process.ranges) add(one, profile.name(one.category));
    for (const ProfileStep& one : process.steps) add(one, std::to_string(one.number));
    for (const ProfileCollective& one : process.collectives)
      add(one, std::to_string(one.communicator) + profile.name(one.group));
    for (const ProfileCollective& one : process.annotated) add(one, std::to_string(one.elements));
  }
  for (const ProfileActivity& one : profile.activities())
    all += text_of(profile, one.span) + std::to_string(one.device) + '\n';
  for (const ProfileSpan& one : profile.watched()) all += text_of(profile, one) + '\n';
  return all;
}

TEST(Profiles, ThatAreAppendedAreAsIfTheirEventsHadBeenAdded) {
  const std::vector<ProfileEvent> events = mixed_events();
  const auto read = [&](std::size_t first) {
    LeftOut left_out, of_later;
    Profile profile(left_out), later(of_later);
    for (std::size_t i = 0; i < events.size(); ++i) (i < first ? profile : later).add(events[i]);
    profile.append(std::move(later));
    profile.finish();
    return text_of(profile) + text_of(left_out);
  };
  const std::string all = read(events.size());
  EXPECT_NE(all.find("process ids that are none, replaced 2"), std::string::npos) << all;
  EXPECT_NE(all.find("called 47"), std::string::npos) << all;
  for (std::size_t first = 0; first < events.size(); ++first) EXPECT_EQ(read(first), all) << first;
}

// Ids that are made up go by those of the profile, and not by what comes first.
TEST(Profiles, HaveTheSameIdsInWhateverOrderTheirEventsAre) {
  const auto ids = [](const std::vector<ProfileEvent>& events) {
    LeftOut left_out;
    Profile profile(left_out);
    for (const ProfileEvent& event : events) profile.add(event);
    profile.finish();
    std::map<std::pair<std::string, std::string>, std::pair<std::uint32_t, std::uint32_t>> made;
    for (const auto& [pid, process] : profile.processes())
      for (const auto& [tid, index] : process.thread_at) made[{pid, tid}] = {process.pid, process.threads[index].tid};
    return made;
  };
  std::vector<ProfileEvent> events = mixed_events();
  const auto made = ids(events);
  EXPECT_NE(made.at({"Spans", "PyTorch"}).first, made.at({"none", "PyTorch"}).first);
  std::reverse(events.begin(), events.end());
  EXPECT_EQ(ids(events), made);
}

TEST(Profiles, NameTheFirstPlaceOfWhatTheyReplace) {
  std::vector<ProfileEvent> events = mixed_events();
  LeftOut left_out;
  Profile profile(left_out);
  for (const ProfileEvent& event : events) profile.add(event);
  profile.finish();
  const auto first = [&](const auto& is_one) {
    return std::find_if(events.begin(), events.end(),
                        [&](const ProfileEvent& event) {
                          return event[ProfileField::kPhase] == "X" &&
                                 event[ProfileField::kCategory] == "cuda_runtime" && is_one(event);
                        })
        ->at;
  };
  EXPECT_EQ(left_out.kinds().at("process ids that are none, replaced").first_byte,
            first([](const ProfileEvent& event) { return event[ProfileField::kPid] == "Spans"; }));
  EXPECT_EQ(left_out.kinds().at("thread ids that are none, replaced").first_byte,
            first([](const ProfileEvent& event) { return event[ProfileField::kTid] == "PyTorch"; }));
}

}  // namespace
}  // namespace hostprobe::analysis
