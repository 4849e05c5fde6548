// Reads PTX text as far as a driver without a compiler must: directives, entry names, parameter lists, shared variables.
// Instructions are skipped; a kernel body is only searched for `.shared`.
#include "image.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace simnode {

namespace {

std::string without_comments(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      while (i < text.size() && text[i] != '\n') ++i;
      out += '\n';
    } else if (text[i] == '/' && i + 1 < text.size() && text[i + 1] == '*') {
      size_t end = text.find("*/", i + 2);
      i = end == std::string::npos ? text.size() : end + 1;
      out += ' ';
    } else if (text[i] == '"') {
      size_t end = text.find('"', i + 1);
      i = end == std::string::npos ? text.size() : end;
      out += "\"\"";
    } else {
      out += text[i];
    }
  }
  return out;
}

// Words and single punctuation marks, one after the other.
class Words {
 public:
  explicit Words(const std::string& text) : text_(text) {}

  std::string next() {
    while (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ >= text_.size()) return "";
    size_t begin = at_;
    if (!in_word(text_[at_])) return text_.substr(at_++, 1);
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

 private:
  static bool in_word(char c) { return isalnum(static_cast<unsigned char>(c)) || strchr("._$%@", c) != nullptr; }
  const std::string& text_;
  size_t at_ = 0;
};

size_t type_bytes(const std::string& type) {
  if (type == ".pred") return 1;
  if (type.size() < 3 || type[0] != '.' || strchr("busf", type[1]) == nullptr) return 0;
  char* end;
  long bits = strtol(type.c_str() + 2, &end, 10);
  if (bits <= 0 || bits % 8 != 0 || bits > 128) return 0;
  // .f16x2, .bf16 and the like: the number of elements behind an x multiplies
  long times = *end == 'x' ? strtol(end + 1, nullptr, 10) : 1;
  return static_cast<size_t>(bits / 8 * std::max(times, 1L));
}

struct Variable {
  std::string name;
  size_t bytes = 0;
  size_t alignment = 0;
};

// `[.const|.ptr …] .align N .type name[count][count]`, up to `stop`. Returns the word that ended it.
std::string read_variable(Words& words, Variable* variable) {
  size_t element = 0, count = 1;
  std::string word;
  for (word = words.next(); !word.empty() && word != "," && word != ")" && word != ";" && word != "=";
       word = words.next()) {
    if (word == ".align") {
      variable->alignment = strtoul(words.next().c_str(), nullptr, 10);
    } else if (word == ".ptr") {
      continue;
    } else if (word == "[") {
      std::string size = words.next();
      if (size == "]") {
        count = 0;  // extern, size known at launch
        continue;
      }
      count *= strtoul(size.c_str(), nullptr, 0);
      words.next();
    } else if (word[0] == '.') {
      if (size_t bytes = type_bytes(word)) element = bytes;
    } else {
      variable->name = word;
    }
  }
  variable->bytes = element * count;
  // `.ptr .align N` is the alignment of what is pointed to; a parameter is aligned by its own type.
  if (count == 1 || variable->alignment == 0) variable->alignment = std::max<size_t>(element, 1);
  return word;
}

bool read_parameters(Words& words, KernelImage* kernel) {
  size_t offset = 0;
  for (std::string word = words.next(); word != ")";) {
    if (word != ".param") return false;
    Variable parameter;
    word = read_variable(words, &parameter);
    if (parameter.bytes == 0 || parameter.name.empty()) return false;
    offset = (offset + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    kernel->parameters.push_back({offset, parameter.bytes});
    offset += parameter.bytes;
    if (word == ",")
      word = words.next();
    else if (word != ")")
      return false;
  }
  return true;
}

int product_of_three(Words& words, std::string* word) {
  int product = 1;
  do {
    product *= std::max(atoi(words.next().c_str()), 1);
    *word = words.next();
  } while (*word == ",");
  return product;
}

// From behind `.entry` to the end of the body.
bool read_entry(Words& words, Image* image) {
  KernelImage kernel;
  kernel.name = words.next();
  if (kernel.name.empty()) return false;
  std::string word = words.next();
  if (word == "(") {
    if (!read_parameters(words, &kernel)) return false;
    word = words.next();
  }
  while (word != "{") {
    if (word == ";") return true;  // a declaration without a body
    if (word.empty()) return false;
    if (word == ".maxntid" || word == ".reqntid")
      kernel.max_threads = product_of_three(words, &word);
    else
      word = words.next();
  }
  for (int depth = 1; depth > 0;) {
    word = words.next();
    if (word.empty()) return false;
    if (word == "{") ++depth;
    if (word == "}") --depth;
    if (word != ".shared") continue;
    Variable shared;
    read_variable(words, &shared);
    kernel.static_shared_bytes += shared.bytes;
  }
  image->kernels.push_back(kernel);
  return true;
}

}  // namespace

CUresult read_ptx(const std::string& text, Image* image) {
  std::string bare = without_comments(text);
  Words words(bare);
  bool version = false, target = false, external = false;
  for (std::string word = words.next(); !word.empty(); word = words.next()) {
    if (word == ".version") version = true;
    if (word == ".target") target = true;
    if (word == ".extern") external = true;
    if (word == ".entry") {
      if (!version || !target || !read_entry(words, image)) return CUDA_ERROR_INVALID_PTX;
      external = false;
    }
    if (word == ".global" || word == ".const") {
      Variable global;
      read_variable(words, &global);
      if (!external && global.bytes != 0 && !global.name.empty()) image->globals.push_back({global.name, global.bytes});
      external = false;
    }
    if (word == ";" || word == "}") external = false;
  }
  if (!version && !target) return CUDA_ERROR_INVALID_IMAGE;
  return version && target ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

}  // namespace simnode
