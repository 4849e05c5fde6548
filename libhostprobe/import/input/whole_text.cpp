// whole_text.cpp: see whole_text.h.
#include "whole_text.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "text_encoding.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kLeastGzip = 18;        // RFC 1952: ten bytes before the data, eight behind
constexpr std::size_t kMostExpansion = 1032;  // of a byte, as zlib documents it

WholeText of_bytes(std::size_t bytes) {
  WholeText whole{std::make_unique_for_overwrite<char[]>(bytes + kZerosBehind), bytes, 0};
  std::memset(whole.text.get() + bytes, 0, kZerosBehind);
  return whole;
}

// Nothing: it is shorter by now.
std::optional<WholeText> read_all(int file, std::size_t bytes) {
  WholeText whole = of_bytes(bytes);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = read(file, whole.text.get() + done, bytes - done);
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return whole;
}

// A pipe is not even opened: who writes into it would see its reader go.
std::optional<WholeText> content_of(const std::string& path, std::size_t most_bytes) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes == 0 || bytes > most_bytes) return std::nullopt;  // 0 is what files of /proc say
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<WholeText> content = read_all(file, bytes);
  close(file);
  return content;
}

bool is_gzip(const WholeText& content) {
  return content.bytes >= 2 && content.text[0] == '\x1f' && content.text[1] == '\x8b';
}

// What stands at its end, modulo 2^32.
std::size_t expanded_bytes(const WholeText& content) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, content.text.get() + content.bytes - sizeof(bytes), sizeof(bytes));
  return bytes;
}

std::optional<WholeText> expand(const WholeText& content, std::size_t most_bytes) {
  if (content.bytes < kLeastGzip) return std::nullopt;
  const std::size_t bytes = expanded_bytes(content);
  if (bytes > most_bytes || bytes / kMostExpansion > content.bytes) return std::nullopt;
  WholeText whole = of_bytes(bytes);
  libdeflate_decompressor* expander = libdeflate_alloc_decompressor();
  if (expander == nullptr) return std::nullopt;
  std::size_t used = 0, made = 0;
  const libdeflate_result result =
      libdeflate_gzip_decompress_ex(expander, content.text.get(), content.bytes, whole.text.get(), bytes, &used, &made);
  libdeflate_free_decompressor(expander);
  if (result != LIBDEFLATE_SUCCESS || used != content.bytes || made != bytes) return std::nullopt;
  return whole;
}

}  // namespace

std::optional<WholeText> whole_text(const std::string& path, std::size_t most_bytes) {
  std::optional<WholeText> content = content_of(path, most_bytes);
  if (content && is_gzip(*content)) content = expand(*content, most_bytes);
  if (!content) return std::nullopt;
  const std::string_view bytes(content->text.get(), content->bytes);
  const TextEncoding encoding = encoding_of(bytes);
  if (encoding == TextEncoding::kLittleUtf16 || encoding == TextEncoding::kBigUtf16) return std::nullopt;
  content->begin = mark_bytes(bytes);
  return content;
}

}  // namespace hostprobe::analysis
