// gzip_file.cpp: see gzip_file.h.
#include "gzip_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kHeldBytes = 1 << 17;
constexpr int kWithGzipHead = 15 + 16;  // of inflateInit2: the largest window, and nothing but gzip

}  // namespace

GzipFile::GzipFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
  if (!is_member()) return;
  stream_ = std::make_unique<z_stream>();
  if (inflateInit2(stream_.get(), kWithGzipHead) == Z_OK) return;
  close(file_);
  throw std::system_error(ENOMEM, std::generic_category(), path);
}

GzipFile::~GzipFile() {
  if (stream_) inflateEnd(stream_.get());
  close(file_);
}

std::size_t GzipFile::read(char* to, std::size_t bytes) { return stream_ ? expand(to, bytes) : copy(to, bytes); }

bool GzipFile::end(const std::string& problem) {
  is_ended_ = true;
  problem_ = problem;
  return false;
}

bool GzipFile::fill(std::size_t least) {
  while (left() < least && !is_ended_) {
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    const std::size_t before = held_.size();
    held_.resize(kHeldBytes);
    const ssize_t got = ::read(file_, held_.data() + before, kHeldBytes - before);
    held_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    taken_ += got > 0 ? static_cast<std::uint64_t>(got) : 0;
    if (got < 0 && errno != EINTR) return end(std::generic_category().message(errno));
    if (got == 0) return false;
  }
  return left() >= least;
}

bool GzipFile::is_member() { return fill(2) && held_[at_] == 0x1f && held_[at_ + 1] == 0x8b; }

std::size_t GzipFile::copy(char* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes && fill(1)) {
    const std::size_t count = std::min(bytes - done, left());
    std::memcpy(to + done, held_.data() + at_, count);
    at_ += count;
    done += count;
  }
  return done;
}

std::size_t GzipFile::expand(char* to, std::size_t bytes) {
  z_stream& stream = *stream_;
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(bytes);
  while (stream.avail_out > 0 && !is_ended_) {
    if (!fill(1)) {
      if (problem_.empty()) end("the compressed data ends too early");
      break;
    }
    stream.next_in = held_.data() + at_;
    stream.avail_in = static_cast<uInt>(left());
    const int result = inflate(&stream, Z_NO_FLUSH);
    at_ = held_.size() - stream.avail_in;
    if (result == Z_STREAM_END) {
      while (fill(1) && held_[at_] == 0) ++at_;  // what files are padded with
      if (!is_member())
        end("");
      else
        inflateReset(&stream);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      end(stream.msg != nullptr ? stream.msg : "the compressed data is damaged");
    }
  }
  return bytes - stream.avail_out;
}

}  // namespace hostprobe::analysis
