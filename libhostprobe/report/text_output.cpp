// text_output.cpp: see text_output.h.
#include "text_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace hostprobe::analysis {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), "cannot write " + path);
}

gzFile gz(void* file) { return static_cast<gzFile>(file); }

bool is_in_place(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

}  // namespace

TextOutput::TextOutput(std::string path) : path_(std::move(path)) {
  if (!is_in_place(path_)) unfinished_ = path_ + ".unfinished";
  const std::string& opened = unfinished_.empty() ? path_ : unfinished_;
  const int flags = O_WRONLY | O_CLOEXEC | (unfinished_.empty() ? 0 : O_CREAT | O_TRUNC | O_NOFOLLOW);
  const int file = open(opened.c_str(), flags, 0666);
  if (file < 0) fail(path_);
  file_ = gzdopen(file, path_.ends_with(".gz") ? "wb" : "wbT");
  if (file_ == nullptr) {
    close(file);
    throw std::system_error(ENOMEM, std::generic_category(), path_);
  }
  gzbuffer(gz(file_), 1 << 17);
}

TextOutput::~TextOutput() {
  if (file_ != nullptr) gzclose(gz(file_));
  if (!unfinished_.empty()) unlink(unfinished_.c_str());
}

void TextOutput::write(std::string_view text) {
  errno = 0;
  if (!text.empty() && gzwrite(gz(file_), text.data(), static_cast<unsigned>(text.size())) <= 0) fail(path_);
}

void TextOutput::finish() {
  errno = 0;
  const int result = gzclose(gz(file_));
  file_ = nullptr;
  if (result != Z_OK) fail(path_);
  if (!unfinished_.empty() && rename(unfinished_.c_str(), path_.c_str()) != 0) fail(path_);
  unfinished_.clear();
}

}  // namespace hostprobe::analysis
