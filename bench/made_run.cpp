// made_run.cpp: a run folder of any size without running anything: RANKS traces of about RECORDS records each, packed and
// compressed as the probe does it. `made_run FOLDER RANKS RECORDS`.
//
// Every step is 93 launches, 4 AllReduces of all ranks, one wait with a waker, one synchronise and a mark; durations and
// gaps vary, and each rank is the last one now and then.
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "probe/writer/file/pack.h"
#include "trace/block_head.h"
#include "trace/trace_writer.h"

namespace hostprobe::bench {
namespace {

constexpr std::uint64_t kStart = 1'000'000'000'000;
constexpr std::uint64_t kCommunicator = 0x1234567890abcdef;
constexpr std::uint32_t kBlock = 8160;  // records: 32 chunks, as many as the writer takes at a time
constexpr int kRecordsOfStep = 100;

class Rank {
 public:
  Rank(const char* run, int rank, int ranks, std::uint64_t records)
      : rank_(rank), ranks_(ranks), pid_(10000u + static_cast<std::uint32_t>(rank)), random_(pid_) {
    const std::uint64_t steps = records / kRecordsOfStep;
    for (std::uint64_t i = 0; i < steps; ++i) add_step(i);
    write(run);
  }

 private:
  std::uint64_t any(std::uint64_t least, std::uint64_t most) { return least + random_() % (most - least + 1); }

  void add(std::uint16_t hook, std::uint64_t length, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
           std::uint64_t e) {
    records_.push_back({now_, now_ + length, hook, 1, 0, 0, a, b, c, d, e});
    now_ += length + any(300, 2000);
  }

  // All ranks begin a step together, as after a collective that all wait for.
  void add_step(std::uint64_t number) {
    const std::uint64_t begin = now_ = kStart + number * 1'000'000;
    for (std::uint32_t i = 0; i < 93; ++i) {
      add(kLaunch, any(900, 1500), 1 + i % 3, pack_dim(128 + i, 1, 1), pack_dim(256, 1, 1), 0x7000, 4096);
      if (i % 23 == 22)
        add(kAllReduce, any(4000, 9000), kCommunicator, 1 << 20, pack_nccl_call(++sequence_, 0, 7, 0), 0x7000,
            pack_nccl_ranks(rank_, ranks_, -1));
    }
    add(kWait, any(20'000, 60'000), 0x8000, pack_post(pid_ + 1, now_ + 15'000), 0, 0, 0);
    add(kSynchronise, any(100'000, 300'000), 0x7000, 0, 0, 0, 0);
    records_.push_back({begin, now_, kStep, 1, 0, 0, number, 0, 0, 0, 0});
  }

  FileHeader header() const {
    FileHeader header{};
    header.pid = pid_;
    header.rank = header.local_rank = rank_;
    header.world_size = ranks_;
    header.start = {kStart, kStart, kStart};
    header.last = {now_, now_, now_};
    analysis::set_field(header.mode, "trace");
    analysis::set_field(header.host, "made");
    analysis::set_field(header.program, "made_run");
    return header;
  }

  void write(const char* run) {
    analysis::TraceWriter writer(run, header());
    writer.add_hook({"cuLaunchKernel",
                     Family::kCuda,
                     kRowCall,
                     {"kernel:str", "grid:dim", "block:dim", "stream:hex", "shared_bytes"},
                     false,
                     true});
    writer.add_hook(
        {"ncclAllReduce", Family::kNccl, kRowCall, {"comm:hex", "count", "call:nccl", "stream:hex", "place:ranks"}});
    writer.add_hook(
        {"sem_clockwait", Family::kWait, kRowCall, {"object:hex", "waker:post", "site:code", "result:i"}, true});
    writer.add_hook({"cuStreamSynchronize", Family::kCuda, kRowCall, {"stream:hex"}, true});
    writer.add_hook({"hostprobe_step", Family::kPython, kRowStep, {"number"}});
    for (const char* name : {"gemm", "norm", "gelu"}) writer.add_string(name);
    ThreadEntry main{};
    main.tid = pid_;
    main.start_ticks = kStart;
    writer.add_thread(main);
    std::ofstream file(writer.finish(), std::ios::binary | std::ios::app);
    for (std::size_t from = 0; from < records_.size(); from += kBlock)
      write_block(file, from, std::min<std::size_t>(kBlock, records_.size() - from));
    if (!file.flush()) throw std::runtime_error("cannot write");
  }

  void write_block(std::ofstream& file, std::size_t from, std::size_t count) {
    static const auto packer = std::make_unique<probe::Packer>();
    packer->begin();
    for (std::size_t i = 0; i < count; ++i) packer->add(records_[from + i]);
    const probe::PackedRows rows = packer->finish();
    std::string stored(ZSTD_compressBound(rows.size), '\0');
    stored.resize(ZSTD_compress(stored.data(), stored.size(), rows.bytes, rows.size, 1));
    const PackedHead packed{rows.times_bytes, rows.rest_bytes, static_cast<std::uint32_t>(stored.size()), kCodecZstd,
                            0};
    stored.resize((stored.size() + 7) / 8 * 8);
    RecordsHead head{};
    head.thread_start_ticks = kStart;
    head.first_sequence = from;
    head.tid = pid_;
    head.slots = head.count = static_cast<std::uint32_t>(count);
    std::string payload(reinterpret_cast<const char*>(&head), sizeof head);
    payload.append(reinterpret_cast<const char*>(&packed), sizeof packed).append(stored);
    BlockHead block{
        kBlockMagic, kBlockPackedRecords, 0, payload.size(), analysis::checksum(payload.data(), payload.size()), 0};
    block.head_checksum = analysis::checksum(&block, offsetof(BlockHead, head_checksum));
    file.write(reinterpret_cast<const char*>(&block), sizeof block);
    file.write(payload.data(), static_cast<std::streamsize>(payload.size()));
  }

  static constexpr std::uint16_t kLaunch = 1, kAllReduce = 2, kWait = 3, kSynchronise = 4, kStep = 5;

  const int rank_, ranks_;
  const std::uint32_t pid_;
  std::minstd_rand random_;
  std::uint64_t now_ = kStart;
  std::uint32_t sequence_ = 0;
  std::vector<Record> records_;
};

}  // namespace
}  // namespace hostprobe::bench

int main(int count, char** words) {
  const int ranks = count == 4 ? std::atoi(words[2]) : 0;
  const long long records = count == 4 ? std::atoll(words[3]) : 0;
  if (ranks < 1 || records < 1) {
    std::fprintf(stderr, "usage: made_run FOLDER RANKS RECORDS\nExample: made_run /tmp/run 64 1000000\n");
    return 2;
  }
  for (int rank = 0; rank < ranks; ++rank)
    hostprobe::bench::Rank(words[1], rank, ranks, static_cast<std::uint64_t>(records));
}
