// embedded_document.cpp: see embedded_document.h.
#include "embedded_document.h"

#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "report/json_text.h"

namespace hostprobe::analysis {
namespace {

// Text as it is can be read by any tool. A thousand ranks would not go through a mail.
constexpr std::size_t kLongestText = 256 << 10;

// Nothing in a string of JSON ends the element, or begins a comment that swallows its end.
std::string safe_in_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char character : json)
    if (character == '<')
      safe += "\\u003c";
    else
      safe += character;
  return safe;
}

std::string gzipped(const std::string& text) {
  z_stream stream = {};
  constexpr int kGzip = 15 + 16;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("the document of the page is too long to be packed");
  return packed;
}

std::string base64(const std::string& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i)
      word = word << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) text += at + i <= bytes.size() ? kDigits[word >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

void add_document(const JsonValue& document, Markup& page) {
  const std::string json = json_text(document, kOneLine);
  const bool is_long = json.size() > kLongestText;
  page.open("script", {{"type", is_long ? "application/gzip" : "application/json"}, {"id", "document"}});
  page.markup(is_long ? base64(gzipped(json)) : safe_in_script(json)).close();
}

}  // namespace hostprobe::analysis
