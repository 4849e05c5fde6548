// whole_text.h: all of a file's text in memory, as it is or compressed by gzip.
//
// Room 3. A parser that may write into the text needs no copy of it, and one call expands it several times as quickly as zlib does piece
// by piece. What this cannot read is for TextFile, which says what is wrong with it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace hostprobe::analysis {

struct WholeText {
  std::unique_ptr<char[]> text;  // kZerosBehind follow it
  std::size_t bytes = 0;
  std::size_t begin = 0;  // bytes of a mark that is in front of the text
};

// Parsers look at several bytes at a time.
inline constexpr std::size_t kZerosBehind = 64;

// Nothing: it has more bytes than that or none, is no file, is not one whole piece of gzip, or is UTF-16.
std::optional<WholeText> whole_text(const std::string& path, std::size_t most_bytes);

}  // namespace hostprobe::analysis
