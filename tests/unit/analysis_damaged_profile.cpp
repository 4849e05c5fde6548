// Profiles that are not JSON from front to end: import/kineto/damaged_profile.cpp, lenient_text.cpp, event_start.cpp. All kinds of damage
// to whole profiles: tests/import/mutations.py.
#include "import/kineto/damaged_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

using Field = ProfileField;

struct Document {
  std::vector<std::string> names;
  ProfileReading reading;
  LeftOut left_out;
};

class DamagedProfiles : public testing::Test {
 protected:
  std::vector<Document> read(const std::string& text) {
    const std::string path = folder_.file("profile.json");
    std::ofstream(path, std::ios::binary) << text;
    std::vector<Document> documents;
    Document now;
    const OnProfileEvent add = [&](const ProfileEvent& event) {
      EXPECT_EQ(text[event.at], '{') << event.at;
      now.names.push_back(event[Field::kName]);
    };
    const std::function<void(const ProfileReading&)> on_document = [&](const ProfileReading& reading) {
      now.reading = reading;
      documents.push_back(now);
      now = {};
    };
    read_damaged_profile(path, {add, now.left_out, on_document});
    return documents;
  }
  Document one(const std::string& text) {
    const std::vector<Document> documents = read(text);
    EXPECT_EQ(documents.size(), 1u) << text;
    return documents.empty() ? Document() : documents.front();
  }
  test::TestFolder folder_;
};

std::string event_text(const std::string& name, const std::string& args = R"("grid": [1, 2])") {
  return R"({"ph": "X", "cat": "kernel", "name": ")" + name + R"(", "pid": 0, "ts": 5, "args": {)" + args + "}}";
}

const std::string kHead = R"({"schemaVersion": 1, "distributedInfo": {"rank": 3}, "traceEvents": [)";
const std::string kTail = R"(], "host_name": "node"})";

using Names = std::vector<std::string>;

TEST_F(DamagedProfiles, WholeOnesReadWithoutAWordOfDamage) {
  const Document found = one(kHead + event_text("a") + ",\n" + event_text("b") + kTail);
  EXPECT_EQ(found.names, Names({"a", "b"}));
  EXPECT_EQ(found.reading.problem, "");
  EXPECT_EQ(found.reading.head.rank + found.reading.head.host, "3node");
  EXPECT_TRUE(found.left_out.kinds().empty());
}

TEST_F(DamagedProfiles, CountWhatIsLostAndWhereTheFirstStood) {
  const std::string before = kHead + event_text("a") + ", ";
  const Document found = one(before + R"({"ph": "X", "name": "b" 7}, )" + event_text("c") + R"(, {"ph": 1 2}, )" +
                             event_text("d") + kTail);
  EXPECT_EQ(found.names, Names({"a", "c", "d"}));
  const LeftOutKind& damaged = found.left_out.kinds().at("events that are damaged");
  EXPECT_EQ(damaged.count, 2u);
  EXPECT_EQ(damaged.first_byte, before.size());
  EXPECT_EQ(found.reading.head.rank + found.reading.head.host, "3node");
  EXPECT_LT(found.reading.read_bytes, found.reading.all_bytes);
}

// Each byte in turn is gone: one event at most is lost with it, or two that it parted; none is made up.
TEST_F(DamagedProfiles, AByteThatIsGoneCostsTheEventAroundIt) {
  const std::string whole = kHead + event_text("a") + ", " + event_text("b") + ", " + event_text("c") + kTail;
  const Names all = {"a", "b", "c"};
  for (std::size_t at = kHead.size(); at < whole.size() - kTail.size(); ++at) {
    const std::string text = std::string(whole).erase(at, 1);
    std::size_t known = 0;
    for (const Document& document : read(text))
      for (const std::string& name : document.names) known += std::find(all.begin(), all.end(), name) != all.end();
    EXPECT_GE(known, 2u) << text;
  }
}

TEST_F(DamagedProfiles, AnEventInsideOfAnotherIsNotItsArgument) {
  const Document found = one(kHead + R"({"ph": "X", "name": "a", "args": {"grid": [1, )" + event_text("b") + ", " +
                             event_text("c") + kTail);
  EXPECT_EQ(found.names, Names({"b", "c"}));
}

TEST_F(DamagedProfiles, ObjectsInArgumentsOfWhatWasDamagedAreNoEvents) {
  const Document found =
      one(kHead + R"({"ph": "X", "name": "a", "args": {"x": ], "list": [{"name": "no"}, {"id": 1}]}}, )" +
          event_text("b") + kTail);
  EXPECT_EQ(found.names, Names({"b"}));
}

TEST_F(DamagedProfiles, SeveralDocumentsAreSeveral) {
  const std::string second = R"({"distributedInfo": {"rank": 4}, "traceEvents": [)" + event_text("b") + "]}";
  for (const std::string between : {"]}\n", "]}", ", ", ""}) {
    const std::vector<Document> documents = read(kHead + event_text("a") + between + second);
    ASSERT_EQ(documents.size(), 2u) << between;
    EXPECT_EQ(documents[0].names, Names({"a"}));
    EXPECT_EQ(documents[0].reading.head.rank, "3");
    EXPECT_EQ(documents[1].names, Names({"b"}));
    EXPECT_EQ(documents[1].reading.head.rank, "4");
  }
}

TEST_F(DamagedProfiles, WithoutTheirBeginTheyHaveEvents) {
  for (const std::string begin : {R"(ta": 5}, )", R"(, "x": [1, 2]}}, )", R"(:[)", ""}) {
    const Document found = one(begin + event_text("a") + ", " + event_text("b") + kTail);
    EXPECT_EQ(found.names, Names({"a", "b"})) << begin;
    EXPECT_EQ(found.reading.head.host, "node") << begin;
  }
}

TEST_F(DamagedProfiles, SayThatTheirEndIsGone) {
  const std::string whole = kHead + event_text("a") + ", " + event_text("b");
  for (std::size_t bytes = kHead.size() + event_text("a").size(); bytes <= whole.size(); ++bytes) {
    const Document found = one(whole.substr(0, bytes));
    EXPECT_EQ(found.names.size(), bytes == whole.size() ? 2u : 1u);
    EXPECT_NE(found.reading.problem, "") << bytes;
  }
}

// Their text is longer than what is held of a file at a time.
TEST_F(DamagedProfiles, AreReadAtAnyLength) {
  std::string text = kHead;
  Names expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = "n" + std::to_string(i);
    const bool is_damaged = i % 1000 == 7;
    text += is_damaged ? R"({"ph": "X", "name": "lost, "ts": 1}, )" : event_text(name) + ", ";
    if (!is_damaged) expected.push_back(name);
  }
  const Document found = one(text + event_text("last", R"("list": ")" + std::string(1 << 20, 'x') + '"') + kTail);
  expected.emplace_back("last");
  EXPECT_TRUE(found.names == expected);
  EXPECT_EQ(found.left_out.kinds().at("events that are damaged").count, 20u);
}

TEST_F(DamagedProfiles, NothingButBracketsIsSoonAtItsEnd) {
  for (const std::string& text : {std::string(1 << 20, '['), std::string(1 << 20, '{'), std::string(1 << 20, '"')}) {
    for (const Document& document : read(text)) EXPECT_TRUE(document.names.empty());
    for (const Document& document : read(kHead + event_text("a") + ", " + text))
      EXPECT_EQ(document.names, Names({"a"}));
  }
}

}  // namespace
}  // namespace hostprobe::analysis
