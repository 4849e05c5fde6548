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

TextFile::TextFile(const std::string& path, ReadProgress progress) : progress_(std::move(progress)) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw std::system_error(errno, std::generic_category(), path);
  file_ = gzdopen(file, "rb");
  if (file_ == nullptr) {
    close(file);
    throw std::system_error(ENOMEM, std::generic_category(), path);
  }
  gzbuffer(gz(file_), kBufferBytes);
  is_plain_ = gzdirect(gz(file_)) != 0;
}

TextFile::~TextFile() {
  if (next_.valid()) next_.wait();
  gzclose(gz(file_));
}

TextFile::Piece TextFile::read(std::vector<char> buffer) {
  Piece piece;
  buffer.resize(kBufferBytes);
  const int got = gzread(gz(file_), buffer.data(), static_cast<unsigned>(buffer.size()));
  buffer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  piece.text = std::move(buffer);
  piece.read = static_cast<std::uint64_t>(gzoffset(gz(file_)));
  if (got > 0) return piece;
  int error = Z_OK;
  const char* text = gzerror(gz(file_), &error);
  if (error == Z_BUF_ERROR)
    piece.problem = "the compressed data ends too early";
  else if (error == Z_ERRNO)
    piece.problem = std::generic_category().message(errno);
  else if (error != Z_OK && error != Z_STREAM_END)
    piece.problem = text;
  return piece;
}

bool TextFile::fill() {
  if (ended_) return false;
  Piece now = next_.valid() ? next_.get() : read({});
  ended_ = now.text.empty();
  problem_ = now.problem;
  if (ended_) return false;
  before_ += piece_.text.size();
  std::swap(piece_, now);
  // Where no thread can be had it is read when it is asked for. What fits one buffer needs none.
  if (piece_.text.size() == kBufferBytes)
    next_ = std::async(std::launch::async | std::launch::deferred,
                       [this, old = std::move(now.text)]() mutable { return read(std::move(old)); });
  at_ = piece_.text.data();
  end_ = at_ + piece_.text.size();
  if (progress_) progress_(piece_.read);
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
