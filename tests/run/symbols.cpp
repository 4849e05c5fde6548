// symbols: the probe stands in front of dlsym, and nobody may notice: not by what is found, not by what is not found, not
// by the error text, and not when another library stands there as well. None of its own exports is a driver function.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

TEST(Symbols, LookupsMeanToTheirCallerWhatTheyMeanWithoutUs) {
  const Pair pair({.program = "looks_up_symbols", .args = {program_library("symbols_local")}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  EXPECT_NE(pair.bare.outcome.out.find("own 1, next 43\nby default from a local library 7\n"), std::string::npos);
  expect_same(pair);
}

// In both orders; the other library alone is what "without us" means here.
TEST(Symbols, AnotherDlsymInTheProcessKeepsItsPlace) {
  const std::string other = program_library("other_dlsym"), ours = probe_library();
  const Victim alone = {.program = "looks_up_symbols",
                        .args = {program_library("symbols_local")},
                        .environment = {{"LD_PRELOAD", other}}};
  for (const std::string& order : {other + ":" + ours, ours + ":" + other}) {
    SCOPED_TRACE(order);
    Victim both = alone;
    both.probe["LD_PRELOAD"] = order;
    const Pair pair(both);
    EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
    expect_same(pair);
  }
}

TEST(Symbols, NoDriverFunctionIsExported) {
  const Outcome symbols = run({.command = {"nm", "-D", "--defined-only", probe_library()}});
  ASSERT_TRUE(symbols.exited_with(0)) << symbols.describe();
  std::istringstream lines(symbols.out);
  int exported = 0;
  for (std::string address, kind, name; lines >> address >> kind >> name; ++exported) {
    EXPECT_FALSE(name.starts_with("cu") || name.starts_with("nccl")) << name;
    // Data could be copied into a program or written by it.
    EXPECT_TRUE(kind == "T" || kind == "W" || kind == "A" || name.starts_with("hostprobe_"))  // A: a version's name
        << kind << ' ' << name;
  }
  EXPECT_GT(exported, 8);
}

// A libc in which the function has another name, as one that has not got it yet.
void make_older_libc(const std::filesystem::path& folder) {
  Dl_info libc;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &libc), 0);
  std::ifstream in(libc.dli_fname, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::string name(std::string("\0epoll_pwait2", 13) + '\0');
  const std::size_t at = bytes.find(name);
  ASSERT_NE(at, std::string::npos);
  bytes[at + name.size() - 2] = 'X';
  std::ofstream(folder / "libc.so.6", std::ios::binary) << bytes;
}

TEST(Symbols, ThatThisLibcLacksDoNotLookPresent) {
  const ScratchFolder older;
  make_older_libc(older.path());
  for (const std::string& folder : {older.path().string(), std::string()}) {
    SCOPED_TRACE(folder);
    const Pair pair({.program = "looks_for_newer_names", .environment = {{"LD_LIBRARY_PATH", folder}}});
    EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
    EXPECT_NE(pair.bare.outcome.out.find(folder.empty() ? "weak: 1" : "weak: 0"), std::string::npos);
    expect_same(pair);
    EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 2u);
    EXPECT_EQ(dump(pair.run()).of("epoll_pwait2").size(), folder.empty() ? 1u : 0u);
  }
}

}  // namespace
}  // namespace hostprobe::test
