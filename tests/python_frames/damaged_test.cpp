// A pretended CPython 3.12 in this program: it exports the interpreter's symbols, so python_frames_find() finds it, and
// its thread state, frames, code objects and strings are ours to damage.
#include <errno.h>
#include <gtest/gtest.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "probe/stacks/python_frames.h"
#include "probe/stacks/python_layout.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
struct Type {
  std::uint64_t count;
  const void* type;
  char rest[400];
};
void* g_thread = nullptr;
int g_finalizing = 0;
void (*g_when_asked)() = nullptr;
}  // namespace

EXPORT Type PyType_Type, PyCode_Type, PyUnicode_Type, PyBytes_Type;
Type PyType_Type = {1, &PyType_Type, {}}, PyCode_Type = {1, &PyType_Type, {}}, PyUnicode_Type = {1, &PyType_Type, {}},
     PyBytes_Type = {1, &PyType_Type, {}};
EXPORT unsigned long Py_Version;
unsigned long Py_Version = 0x030c01f0;
EXPORT void* PyGILState_GetThisThreadState() { return g_thread; }
EXPORT int _Py_IsFinalizing() {
  if (g_when_asked != nullptr) g_when_asked();
  return g_finalizing;
}

namespace hostprobe::probe {
namespace {

constexpr std::size_t kPage = 4096;
constexpr unsigned kFrames = 5, kMost = 32;

// Everything the reader follows lies in `bytes`; the page behind it cannot be read.
class World {
 public:
  World() {
    bytes_ = static_cast<char*>(mmap(nullptr, 5 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(bytes_ + kBytes, kPage, PROT_NONE);
    build();
  }
  ~World() {
    g_thread = nullptr;
    g_finalizing = 0;
    unmap();
  }
  void unmap() {
    if (bytes_ != nullptr) munmap(bytes_, kBytes + kPage);
    bytes_ = nullptr;
  }
  static constexpr std::size_t kBytes = 4 * kPage;
  char* bytes() { return bytes_; }
  std::uint64_t frame(unsigned i) const { return frames_[i]; }
  std::uint64_t name(unsigned i) const { return names_[i]; }
  std::uint64_t code(unsigned i) const { return codes_[i]; }
  void put(std::uint64_t at, unsigned offset, std::uint64_t value, std::size_t bytes = 8) {
    memcpy(reinterpret_cast<char*>(at) + offset, &value, bytes);
  }
  std::uint64_t c_frame() const { return c_frame_; }
  // Each code unit of the code that frame `i` runs is on the line behind that of the unit before.
  void give_each_unit_a_line(unsigned i, unsigned units) {
    const std::uint64_t at = take(kBytesStart + 3 * units);
    put(at, kObjectType, reinterpret_cast<std::uint64_t>(&PyBytes_Type));
    put(at, kBytesLength, 3 * units);
    for (unsigned unit = 0; unit < units; ++unit) put(at, kBytesStart + 3 * unit, 0x80 | 11 << 3, 3);
    put(code(i), kPython312.code_lines, at);
    put(code(i), kPython312.code_first_line, 0, 4);
  }
  // What is there of an object that has references, and of code that has so many units.
  void let_live(unsigned i, unsigned units) {
    put(code(i), 0, 1);
    put(code(i), 16, units);
  }
  std::vector<std::string> read_running(const PythonThread& thread) {
    std::vector<PythonFrame> frames(kMost);
    unsigned count = 0;
    python_frames_of(thread, frames.data(), kMost, count);
    std::vector<std::string> texts;
    for (unsigned i = 0; i < count; ++i) texts.emplace_back(frames[i].text);
    return texts;
  }
  std::vector<std::string> read(unsigned most = kMost) {
    std::vector<PythonFrame> frames(most);
    PythonWork work;
    const unsigned count = python_frames_read(frames.data(), most, work);
    std::vector<std::string> texts;
    for (unsigned i = 0; i < count; ++i) texts.emplace_back(frames[i].text);
    return texts;
  }
  std::uint64_t text(const std::string& content, unsigned width = 1, bool is_ascii = true) {
    const std::uint64_t at = take(kPython312.text_compact_bytes + content.size());
    put(at, kObjectType, reinterpret_cast<std::uint64_t>(&PyUnicode_Type));
    put(at, kPython312.text_length, content.size() / width);
    put(at, kPython312.text_state, width << 2 | 1u << 5 | unsigned{is_ascii} << 6, 4);
    const unsigned start = is_ascii ? kPython312.text_ascii_bytes : kPython312.text_compact_bytes;
    memcpy(reinterpret_cast<char*>(at) + start, content.data(), content.size());
    return at;
  }

 private:
  std::uint64_t take(std::size_t bytes) {
    std::uint64_t at = reinterpret_cast<std::uint64_t>(bytes_ + used_);
    used_ += (bytes + 31) / 16 * 16;
    return at;
  }
  std::uint64_t table() {
    const char bytes[] = "\xd8\x04\x09\x81\x2c\xf8";
    const std::uint64_t at = take(kBytesStart + sizeof bytes);
    put(at, kObjectType, reinterpret_cast<std::uint64_t>(&PyBytes_Type));
    put(at, kBytesLength, sizeof bytes - 1);
    memcpy(reinterpret_cast<char*>(at) + kBytesStart, bytes, sizeof bytes - 1);
    return at;
  }
  void build() {
    const std::uint64_t file = text("/lib/queue.py");
    for (unsigned i = 0; i < kFrames; ++i) {
      names_[i] = text(std::string(1, 'f') + static_cast<char>('0' + i));
      codes_[i] = take(kPython312.code_bytes + 64);
      put(codes_[i], kObjectType, reinterpret_cast<std::uint64_t>(&PyCode_Type));
      put(codes_[i], kPython312.code_file, file);
      put(codes_[i], kPython312.code_name, names_[i]);
      put(codes_[i], kPython312.code_lines, table());
      put(codes_[i], kPython312.code_first_line, 10 * i, 4);
      frames_[i] = take(kPython312.frame_bytes + 64);
      put(frames_[i], kPython312.frame_code, codes_[i]);
      put(frames_[i], kPython312.frame_instruction, codes_[i] + kPython312.code_start);
      if (i > 0) put(frames_[i - 1], kPython312.frame_back, frames_[i]);
    }
    const std::uint64_t thread = take(512), c_frame = take(16);
    put(thread, kPython312.thread_id, static_cast<std::uint64_t>(pthread_self()));
    put(thread, kPython312.thread_frame, c_frame);
    put(c_frame, kPython312.c_frame_frame, frames_[0]);
    c_frame_ = c_frame;
    g_thread = reinterpret_cast<void*>(thread);
  }
  char* bytes_;
  std::size_t used_ = 64;
  std::uint64_t c_frame_ = 0;
  std::uint64_t frames_[kFrames], names_[kFrames], codes_[kFrames];
};

const std::vector<std::string> kWhole = {"f0 (queue.py:1)", "f1 (queue.py:11)", "f2 (queue.py:21)", "f3 (queue.py:31)",
                                         "f4 (queue.py:41)"};

// From here on this process may not copy memory that way, as under a container's filter.
void refuse_copies() {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {std::size(code), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(77);
}

template <class Deed>
int status_of_child(Deed deed) {
  const pid_t child = fork();
  if (child == 0) _exit(deed());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Runs first: once found, an interpreter stays found.
TEST(APythonFindRefusal, WhatIsUnknownIsNotFound) {
  ASSERT_FALSE(python_frames_ready());
  for (unsigned long version : {0x030c00a1ul, 0x030c00b4ul, 0x030700f0ul, 0x031000f0ul, 0ul}) {
    Py_Version = version;
    EXPECT_FALSE(python_frames_find()) << std::hex << version;
  }
  Py_Version = 0x030d00f0;  // would need a _PyRuntime
  EXPECT_FALSE(python_frames_find());
  Py_Version = 0x030c01f0;
  PyCode_Type.type = &PyCode_Type;
  EXPECT_FALSE(python_frames_find());
  PyCode_Type.type = &PyType_Type;
  EXPECT_FALSE(python_frames_ready());
  PythonFrame frame;
  PythonWork work;
  EXPECT_EQ(python_frames_read(&frame, 1, work), 0u);
}

TEST(APythonFindRefusal, AKernelThatDoesNotCopyMeansNoPython) {
  ASSERT_FALSE(python_frames_ready());
  const int status = status_of_child([] {
    refuse_copies();
    return python_frames_find() || python_frames_ready() ? 1 : 0;
  });
  if (status == 77) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(status, 0);
}

// In children, so that nothing is found for the tests behind it.
TEST(APythonFindRefusal, ALoaderNotAskedFindsTheSame) {
  const link_map* first = _r_debug.r_map;
  ASSERT_NE(first, nullptr);
  ASSERT_NE(first->l_next, nullptr);
  EXPECT_EQ(status_of_child([=] { return python_frames_find_among(first, first) && python_frames_ready() ? 0 : 1; }), 0)
      << "the program has it";
  EXPECT_EQ(status_of_child([=] { return python_frames_find_among(first->l_next, nullptr) ? 1 : 0; }), 0)
      << "no other object has";
  EXPECT_EQ(status_of_child([] { return python_frames_find_among(nullptr, nullptr) ? 1 : 0; }), 0) << "there is none";
  EXPECT_FALSE(python_frames_ready());
}

class DamagedPython : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(python_frames_find()); }
  World world;
};

TEST_F(DamagedPython, AWholeStackIsReadInnermostFirst) {
  EXPECT_TRUE(python_frames_ready());
  EXPECT_EQ(world.read(), kWhole);
}

TEST_F(DamagedPython, NoMoreFramesThanAskedFor) {
  EXPECT_EQ(world.read(2), std::vector<std::string>(kWhole.begin(), kWhole.begin() + 2));
  EXPECT_EQ(world.read(0).size(), 0u);
}

TEST_F(DamagedPython, ErrnoIsKeptWhateverIsRead) {
  errno = 4711;
  world.read();
  g_thread = world.bytes() + World::kBytes;  // missing
  world.read();
  EXPECT_EQ(errno, 4711);
}

TEST_F(DamagedPython, AThreadStateOfAnotherThreadIsRefused) {
  std::vector<std::string> texts{"not run"};
  std::thread([&] { texts = world.read(); }).join();
  EXPECT_EQ(texts.size(), 0u);
}

TEST_F(DamagedPython, AKernelThatNoLongerCopiesMeansNoFrames) {
  const int status = status_of_child([this] {
    refuse_copies();
    return world.read().empty() ? 0 : 1;
  });
  if (status == 77) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(status, 0);
}

TEST_F(DamagedPython, AForkedChildReadsItsOwnMemory) {
  const int status = status_of_child([this] {
    memcpy(reinterpret_cast<char*>(world.name(0)) + kPython312.text_ascii_bytes, "ki", 2);
    return world.read().front() == "ki (queue.py:1)" ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(world.read(), kWhole);
}

TEST_F(DamagedPython, NothingIsReadWhileTheInterpreterEnds) {
  g_finalizing = 1;
  EXPECT_EQ(world.read().size(), 0u);
}

TEST_F(DamagedPython, WhatWasReadWhileTheInterpreterBeganToEndIsThrownAway) {
  static int asked;
  asked = 0;
  g_when_asked = [] { g_finalizing = asked++ > 0 ? 1 : 0; };
  EXPECT_EQ(world.read().size(), 0u);
  g_when_asked = nullptr;
  EXPECT_EQ(asked, 2);
}

TEST_F(DamagedPython, FramesUnmappedMeanwhileEndTheStack) {
  static World* mapped;
  mapped = &world;
  g_when_asked = [] { mapped->unmap(); };
  EXPECT_EQ(world.read().size(), 0u);
  g_when_asked = nullptr;
}

TEST_F(DamagedPython, AMissingFrameEndsTheStackBeforeIt) {
  world.put(world.frame(1), kPython312.frame_back, reinterpret_cast<std::uint64_t>(world.bytes()) + World::kBytes);
  EXPECT_EQ(world.read(), std::vector<std::string>(kWhole.begin(), kWhole.begin() + 2));
}

TEST_F(DamagedPython, ACircleOfFramesEnds) {
  world.put(world.frame(4), kPython312.frame_back, world.frame(0));
  EXPECT_EQ(world.read().size(), kMost);
  world.put(world.frame(0), kPython312.frame_owner, kFirstNotPython, 1);
  world.put(world.frame(0), kPython312.frame_back, world.frame(0));
  EXPECT_EQ(world.read().size(), 0u);
}

TEST_F(DamagedPython, WhatIsNoCodeObjectIsLeftOut) {
  world.put(world.code(2), kObjectType, reinterpret_cast<std::uint64_t>(&PyBytes_Type));
  auto expected = kWhole;
  expected.erase(expected.begin() + 2);
  EXPECT_EQ(world.read(), expected);
}

TEST_F(DamagedPython, AFrameThatHasNotBegunIsLeftOut) {
  world.put(world.code(0), kPython312.code_traceable, 4, 4);
  EXPECT_EQ(world.read(), std::vector<std::string>(kWhole.begin() + 1, kWhole.end()));
}

TEST_F(DamagedPython, AStringAtTheEndOfMemoryIsReadToItsEnd) {
  const std::uint64_t end = reinterpret_cast<std::uint64_t>(world.bytes()) + World::kBytes;
  const std::uint64_t at = end - 48;
  memcpy(reinterpret_cast<void*>(at), reinterpret_cast<void*>(world.name(0)), 42);
  world.put(world.code(0), kPython312.code_name, at);
  EXPECT_EQ(world.read(), kWhole);
}

TEST_F(DamagedPython, AStringLongerThanItsMemoryLeavesTheFrameOut) {
  const std::uint64_t end = reinterpret_cast<std::uint64_t>(world.bytes()) + World::kBytes;
  world.put(world.name(1), kPython312.text_length, end - world.name(1));
  EXPECT_EQ(world.read().size(), kWhole.size() - 1);
}

TEST_F(DamagedPython, AllWidthsOfTextBecomeUtf8) {
  const std::string latin1 = "gr\xf6\xdf", two("\x4b\x6d\xd5\x8b", 4), four("\x00\x00\x02\x00", 4);
  world.put(world.code(0), kPython312.code_name, world.text(latin1, 1, false));
  world.put(world.code(1), kPython312.code_name, world.text(two, 2, false));
  world.put(world.code(2), kPython312.code_name, world.text(four, 4, false));
  const auto texts = world.read();
  EXPECT_EQ(texts[0], "gr\xc3\xb6\xc3\x9f (queue.py:1)");
  EXPECT_EQ(texts[1], "\xe6\xb5\x8b\xe8\xaf\x95 (queue.py:11)");
  EXPECT_EQ(texts[2], "\xf0\xa0\x80\x80 (queue.py:21)");
}

// f1 calls one function after the other, each from a line of its own. They end at once, and the next one's frame and code lie where the
// last one's lay. Whichever is seen must be called from the line that f1 stands at.
TEST_F(DamagedPython, ARunningThreadsCodeIsNotThatOfALaterCall) {
  constexpr unsigned kFunctions = 60;
  for (unsigned i = 0; i < kFrames; ++i) world.let_live(i, kFunctions);
  world.give_each_unit_a_line(1, kFunctions);
  std::vector<std::uint64_t> names;
  for (unsigned i = 0; i < kFunctions; ++i) names.push_back(world.text("on" + std::to_string(i + 1)));
  world.put(world.code(0), kPython312.code_name, names[0]);
  const PythonThread thread = {static_cast<std::uint32_t>(gettid()), reinterpret_cast<std::uint64_t>(g_thread),
                               static_cast<std::uint64_t>(pthread_self())};
  std::atomic<bool> stop{false};
  std::thread runs([&] {
    const auto put = [](std::uint64_t at, std::uint64_t value) {
      std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(value);
    };
    for (unsigned i = 0; !stop; i = (i + 1) % kFunctions) {
      put(world.c_frame() + kPython312.c_frame_frame, world.frame(1));
      put(world.frame(1) + kPython312.frame_instruction, world.code(1) + kPython312.code_start + 2 * i);
      put(world.code(0) + kPython312.code_name, names[i]);
      put(world.c_frame() + kPython312.c_frame_frame, world.frame(0));
      for (unsigned k = 0; k < 20000 && !stop; ++k) std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  });
  unsigned seen = 0;
  for (unsigned i = 0; i < 10000 || (seen < 100 && i < 100000000); ++i) {
    const auto texts = world.read_running(thread);
    if (texts.size() != kFrames) continue;
    ++seen;
    const std::string line = texts[0].substr(2, texts[0].find(' ') - 2);
    EXPECT_EQ(texts[1], "f1 (queue.py:" + line + ")") << texts[0];
    if (HasFailure()) break;
  }
  stop = true;
  runs.join();
  EXPECT_GE(seen, 100u);
}

// Any word of the world is replaced by something that looks like a pointer, a size or noise.
TEST_F(DamagedPython, NoDamageEndsTheProcessOrOverrunsTheText) {
  const std::vector<char> good(world.bytes(), world.bytes() + World::kBytes);
  const auto first = reinterpret_cast<std::uint64_t>(world.bytes());
  std::mt19937_64 random(11);
  for (int round = 0; round < 30000; ++round) {
    memcpy(world.bytes(), good.data(), good.size());
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      const std::uint64_t values[] = {0,
                                      random(),
                                      first + random() % (2 * World::kBytes),
                                      random() % 300,
                                      ~std::uint64_t{0},
                                      first + World::kBytes - 8,
                                      random() % (std::uint64_t{1} << 47),
                                      1 << 30};
      const std::size_t used = 4096;
      memcpy(world.bytes() + random() % (used / 8) * 8, &values[random() % std::size(values)], 8);
    }
    PythonFrame frames[kMost];
    PythonWork work;
    const unsigned count = python_frames_read(frames, kMost, work);
    ASSERT_LE(count, kMost);
    for (unsigned i = 0; i < count; ++i) ASSERT_LT(strnlen(frames[i].text, kPythonFrameBytes), kPythonFrameBytes);
  }
}

}  // namespace
}  // namespace hostprobe::probe
