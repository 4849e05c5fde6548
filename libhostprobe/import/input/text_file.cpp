// text_file.cpp: see text_file.h.
#include "text_file.h"

#include <utility>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kBufferBytes = 1 << 18;

}  // namespace

TextFile::TextFile(const std::string& path, ReadProgress progress) : file_(path), progress_(std::move(progress)) {}

TextFile::~TextFile() {
  if (next_.valid()) next_.wait();
}

TextFile::Piece TextFile::read(std::vector<char> buffer) {
  Piece piece;
  buffer.resize(kBufferBytes);
  const std::size_t got = file_.read(buffer.data(), buffer.size());
  buffer.resize(got);
  piece.is_full = got == kBufferBytes;
  decode(buffer);
  piece.text = std::move(buffer);
  piece.read = file_.taken();
  if (got > 0 && piece.text.empty()) return read({});
  if (piece.text.empty()) piece.problem = file_.problem();
  return piece;
}

// An empty text is the end.
void TextFile::decode(std::vector<char>& text) {
  std::string_view bytes(text.data(), text.size());
  if (!is_begun_) {
    const TextEncoding encoding = encoding_of(bytes);
    const bool is_big = encoding == TextEncoding::kBigUtf16;
    if (is_big || encoding == TextEncoding::kLittleUtf16) utf16_.emplace(is_big);
    bytes.remove_prefix(mark_bytes(bytes));
    is_begun_ = true;
  }
  if (!utf16_ && bytes.size() == text.size()) return;
  std::string decoded;
  if (!utf16_)
    decoded = bytes;
  else if (text.empty())
    utf16_->finish(decoded);
  else
    utf16_->add(bytes, decoded);
  text.assign(decoded.begin(), decoded.end());
}

bool TextFile::fill() {
  if (ended_) return false;
  Piece now = next_.valid() ? next_.get() : read({});
  ended_ = now.text.empty();
  problem_ = now.problem;
  if (ended_) return false;
  before_ += piece_.text.size();
  std::swap(piece_, now);
  // Where no thread can be had it is read when it is asked for.
  if (piece_.is_full)
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
