// text_file.cpp: see text_file.h.
#include "text_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <system_error>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kBufferBytes = 1 << 18;

gzFile gz(void* file) { return static_cast<gzFile>(file); }

}  // namespace

TextFile::TextFile(const std::string& path, ReadProgress progress)
    : buffer_(kBufferBytes), progress_(std::move(progress)) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw std::system_error(errno, std::generic_category(), path);
  file_ = gzdopen(file, "rb");
  if (file_ == nullptr) {
    close(file);
    throw std::system_error(ENOMEM, std::generic_category(), path);
  }
  gzbuffer(gz(file_), kBufferBytes);
}

TextFile::~TextFile() { gzclose(gz(file_)); }

bool TextFile::fill() {
  if (ended_) return false;
  const int got = gzread(gz(file_), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  if (got <= 0) {
    ended_ = true;
    int error = Z_OK;
    const char* text = gzerror(gz(file_), &error);
    if (error == Z_BUF_ERROR)
      problem_ = "the compressed data ends too early";
    else if (error == Z_ERRNO)
      problem_ = std::generic_category().message(errno);
    else if (error != Z_OK && error != Z_STREAM_END)
      problem_ = text;
    return false;
  }
  at_ = buffer_.data();
  end_ = at_ + got;
  if (progress_) progress_(static_cast<std::uint64_t>(gzoffset(gz(file_))));
  return true;
}

bool TextFile::line(std::string& text) {
  text.clear();
  if (at_end()) return false;
  while (!at_end()) {
    const char c = take();
    if (c == '\n') break;
    text += c;
  }
  if (!text.empty() && text.back() == '\r') text.pop_back();
  return true;
}

}  // namespace hostprobe::analysis
