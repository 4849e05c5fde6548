// reader_fuzz.cpp: any bytes go through everything that reads a trace: reader, all questions, dump.
//
// Each input is read twice: as it is, and with the checksums of header and blocks made right, because bytes that fail a
// checksum never reach the code behind it. Nothing may crash, throw anything but TraceError, or count more records than
// the bytes can hold.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "analysis/process.h"
#include "export/dump/dump.h"
#include "memory_file.h"
#include "trace/block_head.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace {

using namespace hostprobe;

constexpr std::uint64_t kLeastPackedBlock = sizeof(BlockHead) + sizeof(RecordsHead) + sizeof(PackedHead);

template <typename T>
T at(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes.data() + offset, sizeof(value));
  return value;
}

void repair_header(std::string& bytes) {
  if (bytes.size() < kFileHeaderBytes) return;
  auto header = at<FileHeader>(bytes, 0);
  header.magic = kFileMagic;
  header.version = kFileVersion;
  header.checksum = 0;
  // A segment of this machine must not be found by chance, nor a process be looked for.
  header.state = header.state == kFileOpen ? kFileClosed : header.state;
  bytes.replace(0, sizeof(header), reinterpret_cast<const char*>(&header), sizeof(header));
  header.checksum = analysis::checksum(bytes.data(), kFileHeaderBytes);
  bytes.replace(0, sizeof(header), reinterpret_cast<const char*>(&header), sizeof(header));
}

void repair_blocks(std::string& bytes) {
  std::size_t offset = kFileHeaderBytes;
  while (offset + sizeof(BlockHead) <= bytes.size()) {
    auto head = at<BlockHead>(bytes, offset);
    const std::size_t left = bytes.size() - offset - sizeof(head);
    head.magic = kBlockMagic;
    head.payload_bytes = std::min<std::uint64_t>(head.payload_bytes, left) / 8 * 8;
    head.checksum = analysis::checksum(bytes.data() + offset + sizeof(head), head.payload_bytes);
    head.head_checksum = analysis::checksum(&head, offsetof(BlockHead, head_checksum));
    bytes.replace(offset, sizeof(head), reinterpret_cast<const char*>(&head), sizeof(head));
    offset += sizeof(head) + head.payload_bytes;
  }
}

void read_everything(const std::string& path) {
  analysis::Symbols symbols;
  try {
    const analysis::Trace trace = analysis::read_trace_file_only(path);
    analysis::analyse_process(trace, symbols);
    std::uint64_t records =
        0;  // answer.records also counts what is only in counters, of which a few bytes can claim any number
    for (const auto& [key, thread] : trace.threads)
      for (const analysis::Slice& slice : thread.slices) records += slice.count;
    if (records > trace.file_bytes / kLeastPackedBlock * kPackedMost + trace.file_bytes / sizeof(Record)) std::abort();
  } catch (const analysis::TraceError&) {
    return;
  }
  std::size_t said = 0;
  for (const auto form : {analysis::DumpForm::kJson, analysis::DumpForm::kText}) {
    analysis::dump_run(path, form, [&said](std::string_view text) { said += text.size(); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read_everything(MemoryFile(bytes).path());
  repair_header(bytes);
  repair_blocks(bytes);
  read_everything(MemoryFile(bytes).path());
  return 0;
}
