#include "disk_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kBlock = size_t{64} << 10;
constexpr unsigned kBlocks = 64;

// In the folder where the program runs, gone with the program.
int make_file() {
  char path[] = "./drawn.XXXXXX";
  int file = mkstemp(path);
  if (file < 0) perror("generated program: no file here"), exit(1);
  return unlink(path), file;
}

}  // namespace

JournalFile::JournalFile() : file_(make_file()) {}
JournalFile::~JournalFile() { close(file_); }

void JournalFile::append_until(std::chrono::steady_clock::time_point end) {
  static constexpr char kEntry[4096] = "entry";
  do {
    if (pwrite(file_, kEntry, sizeof kEntry, 0) < 0 || fsync(file_) != 0) perror("generated program: fsync"), exit(1);
  } while (std::chrono::steady_clock::now() < end);
}

SampleFile::SampleFile() : file_(make_file()), buffer_(aligned_alloc(4096, kBlock)) {
  memset(buffer_, 1, kBlock);
  for (unsigned i = 0; i < kBlocks; ++i)
    if (write(file_, buffer_, kBlock) < 0) perror("generated program: write"), exit(1);
  fsync(file_);
  const int flags = fcntl(file_, F_GETFL);
  if (fcntl(file_, F_SETFL, flags | O_DIRECT) != 0) perror("generated program: O_DIRECT"), exit(1);
}

SampleFile::~SampleFile() {
  close(file_);
  free(buffer_);
}

void SampleFile::read_until(std::chrono::steady_clock::time_point end) {
  do {
    next_ = next_ * 5 + 3;
    if (pread(file_, buffer_, kBlock, static_cast<off_t>(next_ % kBlocks * kBlock)) < 0)
      perror("generated program: read"), exit(1);
  } while (std::chrono::steady_clock::now() < end);
}
