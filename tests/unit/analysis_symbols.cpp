// Code addresses become names, or module and offset when no symbol covers them: analysis/symbols.cpp
#include <gtest/gtest.h>

#include "trace/reader.h"
#include "trace/symbols.h"
#include "unit/analysis_sample_library.h"

namespace hostprobe::analysis {
namespace {

class Naming : public testing::Test {
 protected:
  CodePlace place(std::uint64_t address, bool is_return_address = true) {
    test::TraceFile file;
    sample_.add_to(file);
    file.write(folder_.file("t.hptrace"));
    return symbols_.place(read_trace(folder_.file("t.hptrace")), address, is_return_address);
  }
  test::TestFolder folder_;
  test::SampleLibrary sample_;
  Symbols symbols_;
};

TEST_F(Naming, ExportedFunctionIsNamedWithItsOffset) {
  const CodePlace found = place(sample_.address("sample_sum") + 5);
  EXPECT_EQ(found.function, "sample_sum");
  EXPECT_EQ(found.library, "libpython3.99.so");
  EXPECT_EQ(found.text(), "sample_sum+0x5 (libpython3.99.so)");
  EXPECT_EQ(found.caller_text(), "sample_sum (libpython3.99.so)");
}

TEST_F(Naming, ReturnAddressBehindTheLastInstructionBelongsToTheCaller) {
  const std::uint64_t begin = sample_.address("sample_sum");
  EXPECT_EQ(place(begin, false).function, "sample_sum");
  EXPECT_NE(place(begin, true).function, "sample_sum") << "the call would lie before the function";
}

TEST_F(Naming, AddressThatNoSymbolCoversIsModuleAndOffset) {
  const CodePlace found = place(sample_.base() + 0x10);  // the ELF header
  EXPECT_EQ(found.function, "");
  EXPECT_EQ(found.text(), "libpython3.99.so+0x10");
}

TEST_F(Naming, AddressOutsideOfAllModulesIsANumber) {
  EXPECT_EQ(place(0x10).library, "unknown");
  EXPECT_EQ(place(0x10).text(), "0x10");
}

TEST_F(Naming, FileOfAnotherBuildNamesNothing) {
  const SymbolTable other(HOSTPROBE_TEST_SAMPLE, "00112233445566778899");
  std::uint64_t offset = 0;
  EXPECT_EQ(other.covering(sample_.address("sample_sum") - sample_.base(), offset), "");
  const SymbolTable same(HOSTPROBE_TEST_SAMPLE, "");
  EXPECT_EQ(same.covering(sample_.address("sample_sum") - sample_.base(), offset), "sample_sum");
}

TEST_F(Naming, MissingOrForeignFilesNameNothing) {
  std::uint64_t offset = 0;
  EXPECT_EQ(SymbolTable("/no/such/file", "").covering(0x1000, offset), "");
  EXPECT_EQ(SymbolTable("/etc/passwd", "").covering(0x10, offset), "");
  EXPECT_EQ(SymbolTable("/proc/self", "").covering(0x10, offset), "");
}

TEST(Demangling, OnlyMangledNamesChange) {
  EXPECT_EQ(demangle("_ZN4c10d7Reducer17finalize_backwardEv"), "c10d::Reducer::finalize_backward()");
  EXPECT_EQ(demangle("f"), "f");
  EXPECT_EQ(demangle_type("N4gloo4LoopE"), "gloo::Loop");
  EXPECT_EQ(demangle_type(""), "");
}

}  // namespace
}  // namespace hostprobe::analysis
