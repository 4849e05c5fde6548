// unwind_table.cpp: see unwind_table.h. Nothing here trusts what it reads: lengths end with the object, loops with their
// bounds.
#include "probe/stacks/unwind_table.h"

#include "probe/arch/architecture.h"

namespace hostprobe::probe {
namespace {

struct Table {
  std::uint64_t base, entries, count;
  unsigned word_bytes;  // an entry has two words
};

bool lies_in(const CodeObject& object, std::uint64_t address) {
  return address >= object.begin && address < object.end;
}

bool open_table(TableWindow& window, const CodeObject& object, Table& table) {
  if (!lies_in(object, object.table)) return false;
  Bytes bytes(window, object.table, object.end);
  auto version = bytes.next<std::uint8_t>(), start_encoding = bytes.next<std::uint8_t>(),
       count_encoding = bytes.next<std::uint8_t>(), table_encoding = bytes.next<std::uint8_t>();
  if (version != 1 || count_encoding == kPointerOmitted) return false;
  if (table_encoding != kPointerSigned4FromBase && table_encoding != kPointerSigned8FromBase) return false;
  bytes.pointer(start_encoding, object.table);
  std::uint64_t count = bytes.pointer(count_encoding, object.table);
  table = {object.table, bytes.at(), count, table_encoding == kPointerSigned4FromBase ? 4u : 8u};
  return !bytes.failed() && count != 0 && count <= (object.end - bytes.at()) / (2 * table.word_bytes);
}

bool read_word(TableWindow& window, const Table& table, std::uint64_t word, std::uint64_t& value) {
  std::uint64_t at = table.entries + word * table.word_bytes;
  if (table.word_bytes == 8) {
    if (!window.read(&value, at, sizeof value)) return false;
  } else {
    std::int32_t offset;
    if (!window.read(&offset, at, sizeof offset)) return false;
    value = static_cast<std::uint64_t>(std::int64_t{offset});
  }
  value += table.base;
  return true;
}

// Where pc would lie between low and high if functions were spread evenly. In whole numbers: a program may have asked for a
// signal when a floating-point result is not exact.
std::uint64_t proportion(std::uint64_t offset, std::uint64_t span, std::uint64_t entries) {
  for (; span >> 31 != 0; span >>= 1) offset >>= 1;
  return offset * (entries & 0xffffffff) / span;
}

// The last entry that begins at or before pc. A guess by proportion lands near it, mostly in the same piece or the next; each
// second step halves, so that no table makes it slow.
bool find_description(TableWindow& window, const CodeObject& object, const Table& table, std::uint64_t pc,
                      std::uint64_t& description) {
  std::uint64_t low = 0, high = table.count, low_pc = 0, high_pc = object.end;
  if (!read_word(window, table, 0, low_pc) || pc < low_pc) return false;
  for (bool guess = true; high - low > 1; guess = !guess) {
    std::uint64_t middle = low + (high - low) / 2;
    if (guess && pc >= low_pc && pc < high_pc) {
      middle = low + 1 + proportion(pc - low_pc, high_pc - low_pc, high - low - 1);
      if (middle >= high) middle = high - 1;
    }
    std::uint64_t middle_pc;
    if (!read_word(window, table, 2 * middle, middle_pc)) return false;
    if (middle_pc <= pc)
      low = middle, low_pc = middle_pc;
    else
      high = middle, high_pc = middle_pc;
  }
  return read_word(window, table, 2 * low + 1, description) && lies_in(object, description);
}

// What stands in a CIE's augmentation, letter by letter: {pointers, personality, language data, signal frame}.
bool read_augmentation(Bytes& bytes, const char* letters, UnwindProgram& program) {
  for (const char* letter = letters; *letter != 0; ++letter) {
    switch (*letter) {
      case 'R':
        program.encoding = bytes.next<std::uint8_t>();
        break;
      case 'P':
        bytes.pointer(bytes.next<std::uint8_t>(), 0);
        break;
      case 'L':
        bytes.next<std::uint8_t>();
        break;
      case 'S':
        program.is_signal_frame = true;
        break;
      case 'B':
      case 'G':
        break;
      default:
        return false;
    }
  }
  return !bytes.failed();
}

// The bytes of an entry after its length; an empty range when there is none that lies in the object.
Bytes entry_at(TableWindow& window, const CodeObject& object, std::uint64_t at) {
  Bytes bytes(window, at, object.end);
  if (!lies_in(object, at)) return Bytes(window, at, at);
  auto length = bytes.next<std::uint32_t>();
  // All ones would be a length of 8 bytes, which nobody writes here.
  bool fits = !bytes.failed() && length != 0 && length <= object.end - bytes.at();
  return Bytes(window, bytes.at(), fits ? bytes.at() + length : bytes.at());
}

bool read_common(TableWindow& window, const CodeObject& object, std::uint64_t at, UnwindProgram& program,
                 bool& has_length) {
  Bytes bytes = entry_at(window, object, at);
  if (bytes.next<std::uint32_t>() != 0) return false;
  auto version = bytes.next<std::uint8_t>();
  if (version != 1 && version != 3) return false;
  char letters[8] = {};
  for (unsigned i = 0; (letters[i] = static_cast<char>(bytes.next<std::uint8_t>())) != 0; ++i)
    if (i + 2 > sizeof letters) return false;
  program.code_factor = bytes.uleb();
  program.data_factor = bytes.sleb();
  std::uint64_t return_register = version == 1 ? bytes.next<std::uint8_t>() : bytes.uleb();
  has_length = letters[0] == 'z';
  if (has_length) {
    std::uint64_t length = bytes.uleb(), start = bytes.at();
    if (!read_augmentation(bytes, letters + 1, program) || bytes.at() - start > length) return false;
    bytes.skip(length - (bytes.at() - start));
  } else if (letters[0] != 0) {
    return false;
  }
  program.common = {bytes.at(), bytes.end()};
  return !bytes.failed() && return_register == kReturnRegister;
}

}  // namespace

bool find_unwind_program(TableWindow& window, const CodeObject& object, std::uint64_t pc, UnwindProgram& program) {
  Table table;
  std::uint64_t description = 0;
  if (!open_table(window, object, table) || !find_description(window, object, table, pc, description)) return false;
  program = {};
  bool has_length = false;
  Bytes bytes = entry_at(window, object, description);
  std::uint64_t here = bytes.at();
  std::uint64_t common = here - bytes.next<std::uint32_t>();
  if (bytes.failed() || !read_common(window, object, common, program, has_length)) return false;
  program.first_pc = bytes.pointer(program.encoding, 0);
  std::uint64_t pcs = bytes.pointer(program.encoding & 0x0f, 0);
  if (has_length) bytes.skip(bytes.uleb());
  program.own = {bytes.at(), bytes.end()};
  return !bytes.failed() && pc >= program.first_pc && pc - program.first_pc < pcs;
}

}  // namespace hostprobe::probe
