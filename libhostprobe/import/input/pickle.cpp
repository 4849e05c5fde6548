// pickle.cpp: see pickle.h.
#include "pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <unordered_map>

namespace hostprobe::analysis {
namespace {

using Type = PlainValue::Type;

constexpr std::size_t kMostMemo = 1 << 22;
constexpr char kTooMany[] = "it holds more values than are read";

// The instructions by their byte, as pickletools names them.
struct Op {
  enum : unsigned char {
    kMark = '(',
    kStop = '.',
    kPop = '0',
    kPopMark = '1',
    kDup = '2',
    kFloat = 'F',
    kInt = 'I',
    kBinInt = 'J',
    kBinInt1 = 'K',
    kLong = 'L',
    kBinInt2 = 'M',
    kNone = 'N',
    kString = 'S',
    kBinString = 'T',
    kShortBinString = 'U',
    kUnicode = 'V',
    kBinUnicode = 'X',
    kAppend = 'a',
    kDict = 'd',
    kEmptyDict = '}',
    kAppends = 'e',
    kGet = 'g',
    kBinGet = 'h',
    kLongBinGet = 'j',
    kList = 'l',
    kEmptyList = ']',
    kPut = 'p',
    kBinPut = 'q',
    kLongBinPut = 'r',
    kSetItem = 's',
    kTuple = 't',
    kEmptyTuple = ')',
    kSetItems = 'u',
    kBinFloat = 'G',
    kBinBytes = 'B',
    kShortBinBytes = 'C',
    kProto = 0x80,
    kTuple1 = 0x85,
    kTuple2 = 0x86,
    kTuple3 = 0x87,
    kNewTrue = 0x88,
    kNewFalse = 0x89,
    kLong1 = 0x8a,
    kLong4 = 0x8b,
    kShortBinUnicode = 0x8c,
    kBinUnicode8 = 0x8d,
    kBinBytes8 = 0x8e,
    kMemoize = 0x94,
    kFrame = 0x95,
  };
};

class Reader {
 public:
  Reader(std::string_view bytes, PlainDocument& document) : bytes_(bytes), document_(document) {}

  PlainReading read() {
    while (problem_.empty() && !is_stopped_) step();
    if (!problem_.empty()) unwind();
    return {stack_.empty() ? nullptr : stack_.front(), problem_, at_};
  }

 private:
  void fail(std::string why) {
    if (problem_.empty()) problem_ = fmt::format("byte {}: {}", begin_, why);
  }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) {
      fail("it ends in the middle of a value");
      at_ = bytes_.size();
      return {};
    }
    const std::string_view some = bytes_.substr(at_, count);
    at_ += count;
    return some;
  }
  // The lowest byte first.
  std::uint64_t take_number(unsigned count) {
    std::uint64_t value = 0;
    const std::string_view some = take(count);
    for (std::size_t i = 0; i < some.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(some[i])} << (8 * i);
    return value;
  }
  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) return take(bytes_.size() - at_ + 1);
    const std::string_view line = take(end - at_);
    ++at_;
    return line;
  }

  PlainValue* push(Type type) {
    PlainValue* value = document_.make(type);
    if (value == nullptr) {
      fail(kTooMany);
      return nullptr;
    }
    stack_.push_back(value);
    return value;
  }
  void push_whole(std::int64_t whole, Type type = Type::kWhole) {
    if (PlainValue* value = push(type)) value->whole = whole;
  }
  void push_real(double real) {
    if (PlainValue* value = push(Type::kReal)) value->real = real;
  }
  void push_text(std::string_view text) {
    if (!problem_.empty()) return;
    if (PlainValue* value = push(Type::kText)) value->text = text;
  }
  // Of any length in two's complement; beyond 64 bits it is a number that nothing here asks for.
  void push_long(std::string_view bytes) {
    if (bytes.size() > 8) return static_cast<void>(push(Type::kNothing));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    const unsigned unused = static_cast<unsigned>(8 * (8 - bytes.size()));
    push_whole(unused == 64 ? 0 : static_cast<std::int64_t>(value << unused) >> unused);
  }
  // "12", "12L", and of INT also "01" and "00", which are True and False.
  void push_digits(std::string_view line) {
    if (line == "01" || line == "00") return push_whole(line == "01", Type::kFlag);
    if (line.ends_with('L')) line.remove_suffix(1);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    error == std::errc() && end == line.data() + line.size() ? push_whole(value)
                                                             : static_cast<void>(push(Type::kNothing));
  }

  PlainValue* top(std::size_t below = 0) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + below + 1) {
      fail("it takes a value that is not there");
      return nullptr;
    }
    return stack_[stack_.size() - 1 - below];
  }
  void pop() {
    if (top() != nullptr) stack_.pop_back();
  }
  std::vector<PlainValue*> pop_to_mark() {
    if (marks_.empty()) {
      fail("it takes values from a mark that is not there");
      return {};
    }
    const std::size_t from = std::min(marks_.back(), stack_.size());
    std::vector<PlainValue*> values(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    marks_.pop_back();
    return values;
  }
  std::vector<PlainValue*> pop_some(std::size_t count) {
    if (top(count - 1) == nullptr) return {};
    std::vector<PlainValue*> values(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return values;
  }

  void append(const std::vector<PlainValue*>& values) {
    PlainValue* list = top();
    if (list == nullptr) return;
    if (!list->is(Type::kList)) return fail("it adds to what is no list");
    list->items.insert(list->items.end(), values.begin(), values.end());
  }
  // A name without a value is left out.
  void set(const std::vector<PlainValue*>& values) {
    PlainValue* map = top();
    if (map == nullptr) return;
    if (!map->is(Type::kMap)) return fail("it sets a member of what is no map");
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) map->members.emplace_back(values[i], values[i + 1]);
  }
  void push_list(const std::vector<PlainValue*>& values) {
    if (problem_.empty() && push(Type::kList) != nullptr) append(values);
  }

  void put(std::uint64_t number) {
    PlainValue* value = top();
    if (value == nullptr) return;
    if (memo_.size() >= kMostMemo) return fail(kTooMany);
    memo_[number] = value;
  }
  void get(std::uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) return fail("it names a value that it never had");
    if (stack_.size() > PlainDocument::kMostValues) return fail(kTooMany);
    stack_.push_back(found->second);
  }

  void step() {
    begin_ = at_;
    const std::string_view one = take(1);
    if (one.empty()) return;
    const auto code = static_cast<unsigned char>(one[0]);
    if (!step_of_stack(code) && !step_of_number(code) && !step_of_text(code) && !step_of_container(code) &&
        !step_of_memo(code))
      fail(fmt::format("instruction {:#04x}, which this reader does not follow: it knows plain types alone", code));
  }

  bool step_of_stack(unsigned char code) {
    switch (code) {
      case Op::kProto:
        if (take_number(1) > 5) fail("a protocol of pickle that is not known");
        return true;
      case Op::kFrame:
        take(8);
        return true;
      case Op::kMark:
        marks_.push_back(stack_.size());
        return true;
      case Op::kStop:
        is_stopped_ = true;
        if (stack_.size() != 1) fail("it ends with other than one value");
        return true;
      case Op::kPop:
        pop();
        return true;
      case Op::kPopMark:
        pop_to_mark();
        return true;
      case Op::kDup:
        if (PlainValue* value = top()) stack_.push_back(value);
        return true;
      default:
        return false;
    }
  }

  bool step_of_number(unsigned char code) {
    switch (code) {
      case Op::kNone:
        push(Type::kNothing);
        return true;
      case Op::kNewTrue:
        push_whole(1, Type::kFlag);
        return true;
      case Op::kNewFalse:
        push_whole(0, Type::kFlag);
        return true;
      case Op::kBinInt:
        push_whole(static_cast<std::int32_t>(take_number(4)));
        return true;
      case Op::kBinInt1:
        push_whole(static_cast<std::int64_t>(take_number(1)));
        return true;
      case Op::kBinInt2:
        push_whole(static_cast<std::int64_t>(take_number(2)));
        return true;
      case Op::kLong1:
        push_long(take(take_number(1)));
        return true;
      case Op::kLong4:
        push_long(take(take_number(4)));
        return true;
      case Op::kInt:
      case Op::kLong:
        push_digits(take_line());
        return true;
      case Op::kFloat:
        push_real(std::strtod(std::string(take_line()).c_str(), nullptr));
        return true;
      case Op::kBinFloat:
        push_real(std::bit_cast<double>(__builtin_bswap64(take_number(8))));
        return true;
      default:
        return false;
    }
  }

  bool step_of_text(unsigned char code) {
    switch (code) {
      case Op::kBinUnicode:
      case Op::kBinString:
      case Op::kBinBytes:
        push_text(take(take_number(4)));
        return true;
      case Op::kShortBinUnicode:
      case Op::kShortBinString:
      case Op::kShortBinBytes:
        push_text(take(take_number(1)));
        return true;
      case Op::kBinUnicode8:
      case Op::kBinBytes8:
        push_text(take(take_number(8)));
        return true;
      case Op::kUnicode:
      case Op::kString:
        push_text(take_line());
        return true;
      default:
        return false;
    }
  }

  bool step_of_container(unsigned char code) {
    switch (code) {
      case Op::kEmptyList:
      case Op::kEmptyTuple:
        push(Type::kList);
        return true;
      case Op::kEmptyDict:
        push(Type::kMap);
        return true;
      case Op::kList:
      case Op::kTuple:
        push_list(pop_to_mark());
        return true;
      case Op::kTuple1:
      case Op::kTuple2:
      case Op::kTuple3:
        push_list(pop_some(code - Op::kTuple1 + 1u));
        return true;
      case Op::kDict: {
        const std::vector<PlainValue*> values = pop_to_mark();
        if (problem_.empty() && push(Type::kMap) != nullptr) set(values);
        return true;
      }
      case Op::kAppend:
        append(pop_some(1));
        return true;
      case Op::kAppends:
        append(pop_to_mark());
        return true;
      case Op::kSetItem:
        set(pop_some(2));
        return true;
      case Op::kSetItems:
        set(pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  bool step_of_memo(unsigned char code) {
    switch (code) {
      case Op::kPut:
      case Op::kGet: {
        const std::string_view line = take_line();
        std::uint64_t number = 0;
        std::from_chars(line.data(), line.data() + line.size(), number);
        if (problem_.empty()) code == Op::kPut ? put(number) : get(number);
        return true;
      }
      case Op::kBinPut:
        put(take_number(1));
        return true;
      case Op::kLongBinPut:
        put(take_number(4));
        return true;
      case Op::kMemoize:
        put(memo_.size());
        return true;
      case Op::kBinGet:
        get(take_number(1));
        return true;
      case Op::kLongBinGet:
        get(take_number(4));
        return true;
      default:
        return false;
    }
  }

  // What was begun is ended as if the rest had never been meant to come: values above a mark go to the list or map below it.
  void unwind() {
    const std::string why = problem_;
    while (!marks_.empty()) {
      const std::vector<PlainValue*> values = pop_to_mark();
      if (stack_.empty()) continue;
      if (stack_.back()->is(Type::kList)) append(values);
      if (stack_.back()->is(Type::kMap)) set(values);
    }
    problem_ = why;
  }

  const std::string_view bytes_;
  PlainDocument& document_;
  std::size_t at_ = 0, begin_ = 0;
  bool is_stopped_ = false;
  std::string problem_;
  std::vector<PlainValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PlainValue*> memo_;
};

}  // namespace

PlainReading read_pickle(std::string_view bytes, PlainDocument& document) { return Reader(bytes, document).read(); }

}  // namespace hostprobe::analysis
