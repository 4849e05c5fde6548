// unwind_expression.cpp: see unwind_expression.h. It always ends: steps are counted, and jumps stay inside.
#include "probe/stacks/unwind_expression.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kMostSteps = 256, kMostOperands = 16;

// DW_OP_…
enum : std::uint8_t {
  kAddress = 0x03,
  kDereference = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstU = 0x10,
  kConstS = 0x11,
  kDuplicate = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kPick = 0x15,
  kSwap = 0x16,
  kRotate = 0x17,
  kAbsolute = 0x19,
  kAnd = 0x1a,
  kMinus = 0x1c,
  kMultiply = 0x1e,
  kNegate = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusConst = 0x23,
  kShiftLeft = 0x24,
  kShiftRight = 0x25,
  kShiftRightSigned = 0x26,
  kXor = 0x27,
  kBranch = 0x28,
  kEqual = 0x29,
  kAtLeast = 0x2a,
  kGreater = 0x2b,
  kAtMost = 0x2c,
  kLess = 0x2d,
  kUnequal = 0x2e,
  kSkip = 0x2f,
  kLiteral0 = 0x30,
  kLiteral31 = 0x4f,
  kRegister0 = 0x70,
  kRegister31 = 0x8f,
  kRegisterX = 0x92,
  kDereferenceSize = 0x94,
  kNothing = 0x96,
};

class Expression {
 public:
  Expression(Bytes bytes, StackWindow& memory, const Registers& registers, std::uint64_t* operands)
      : bytes_(bytes), begin_(bytes.at()), memory_(memory), registers_(registers), operands_(operands) {}

  void push(std::uint64_t value) {
    if (count_ == kMostOperands)
      failed_ = true;
    else
      operands_[count_++] = value;
  }

  bool run(std::uint64_t& result) {
    for (unsigned steps = 0; bytes_.more() && !failed_; ++steps)
      if (steps == kMostSteps || !step(bytes_.next<std::uint8_t>())) return false;
    result = top(0);
    return !failed_ && !bytes_.failed();
  }

 private:
  std::uint64_t top(unsigned below) {
    if (below < count_) return operands_[count_ - 1 - below];
    failed_ = true;
    return 0;
  }
  std::uint64_t pop() {
    std::uint64_t value = top(0);
    if (count_ > 0) --count_;
    return value;
  }
  void push_signed(std::int64_t value) { push(static_cast<std::uint64_t>(value)); }

  bool step(std::uint8_t code) {
    if (code >= kLiteral0 && code <= kLiteral31) {
      push(code - kLiteral0);
      return true;
    }
    if (code >= kRegister0 && code <= kRegister31) return push_register(static_cast<unsigned>(code - kRegister0));
    return step_of_constants(code) || step_of_order(code) || step_of_one(code) || step_of_two(code);
  }

  bool push_register(std::uint64_t number) {
    if (!registers_.has(number)) return false;
    push(registers_.value[number] + static_cast<std::uint64_t>(bytes_.sleb()));
    return true;
  }

  bool push_memory(std::uint64_t at, std::size_t size) {
    std::uint64_t value = 0;
    if (size > sizeof value || !memory_.read(&value, at, size)) return false;
    push(value);
    return true;
  }

  bool step_of_constants(std::uint8_t code) {
    switch (code) {
      case kAddress:
      case kConst8u:
      case kConst8s:
        return push(bytes_.next<std::uint64_t>()), true;
      case kConst1u:
        return push(bytes_.next<std::uint8_t>()), true;
      case kConst1s:
        return push_signed(bytes_.next<std::int8_t>()), true;
      case kConst2u:
        return push(bytes_.next<std::uint16_t>()), true;
      case kConst2s:
        return push_signed(bytes_.next<std::int16_t>()), true;
      case kConst4u:
        return push(bytes_.next<std::uint32_t>()), true;
      case kConst4s:
        return push_signed(bytes_.next<std::int32_t>()), true;
      case kConstU:
        return push(bytes_.uleb()), true;
      case kConstS:
        return push_signed(bytes_.sleb()), true;
      case kRegisterX:
        return push_register(bytes_.uleb());
      default:
        return false;
    }
  }

  // What only moves things about.
  bool step_of_order(std::uint8_t code) {
    std::uint64_t a, b, c;
    switch (code) {
      case kNothing:
        return true;
      case kDuplicate:
        return push(top(0)), true;
      case kDrop:
        return pop(), true;
      case kOver:
        return push(top(1)), true;
      case kPick:
        return push(top(bytes_.next<std::uint8_t>())), true;
      case kSwap:
        a = pop(), b = pop();
        return push(a), push(b), true;
      case kRotate:
        a = pop(), b = pop(), c = pop();
        return push(a), push(c), push(b), true;
      case kSkip:
        return bytes_.jump(bytes_.next<std::int16_t>(), begin_), true;
      case kBranch:
        if (auto way = bytes_.next<std::int16_t>(); pop() != 0) bytes_.jump(way, begin_);
        return true;
      default:
        return false;
    }
  }

  bool step_of_one(std::uint8_t code) {
    switch (code) {
      case kDereference:
        return push_memory(pop(), 8);
      case kDereferenceSize:
        return push_memory(pop(), bytes_.next<std::uint8_t>());
      case kAbsolute:
        return push(static_cast<std::int64_t>(top(0)) < 0 ? 0 - pop() : pop()), true;
      case kNegate:
        return push(0 - pop()), true;
      case kNot:
        return push(~pop()), true;
      case kPlusConst:
        return push(pop() + bytes_.uleb()), true;
      default:
        return false;
    }
  }

  bool step_of_two(std::uint8_t code) {
    if (code < kAnd || code > kUnequal) return false;
    std::uint64_t second = pop(), first = pop();
    auto signed_first = static_cast<std::int64_t>(first), signed_second = static_cast<std::int64_t>(second);
    switch (code) {
      case kAnd:
        return push(first & second), true;
      case kOr:
        return push(first | second), true;
      case kXor:
        return push(first ^ second), true;
      case kPlus:
        return push(first + second), true;
      case kMinus:
        return push(first - second), true;
      case kMultiply:
        return push(first * second), true;
      case kShiftLeft:
        return push(second < 64 ? first << second : 0), true;
      case kShiftRight:
        return push(second < 64 ? first >> second : 0), true;
      case kShiftRightSigned:
        return push_signed(signed_first >> (second < 64 ? second : 63)), true;
      case kEqual:
        return push(first == second), true;
      case kUnequal:
        return push(first != second), true;
      case kAtLeast:
        return push(signed_first >= signed_second), true;
      case kGreater:
        return push(signed_first > signed_second), true;
      case kAtMost:
        return push(signed_first <= signed_second), true;
      case kLess:
        return push(signed_first < signed_second), true;
      default:
        return false;
    }
  }

  Bytes bytes_;
  std::uint64_t begin_;
  StackWindow& memory_;
  const Registers& registers_;
  std::uint64_t* operands_;
  unsigned count_ = 0;
  bool failed_ = false;
};

}  // namespace

bool evaluate(TableWindow& tables, StackWindow& memory, std::uint64_t at, const Registers& registers,
              const std::uint64_t* first, std::uint64_t* operands, std::uint64_t& result) {
  Bytes length(tables, at, at + 16 > at ? at + 16 : at);
  std::uint64_t bytes = length.uleb();
  if (length.failed() || bytes > 4096) return false;
  Expression expression(Bytes(tables, length.at(), length.at() + bytes), memory, registers, operands);
  if (first != nullptr) expression.push(*first);
  return expression.run(result);
}

}  // namespace hostprobe::probe
