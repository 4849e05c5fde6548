// Records packed by the probe and unpacked by the analysis are the same records, whatever they hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "probe/writer/file/compress.h"
#include "probe/writer/file/pack.h"
#include "trace/unpack.h"

namespace hostprobe::probe {
namespace {

using Records = analysis::Records;

std::size_t compressed(const void* bytes, std::size_t size, void* out, std::size_t room) {
  static const auto memory = std::make_unique<CompressMemory>();
  return compress(*memory, bytes, size, out, room);
}

Record record(std::uint16_t hook, std::uint64_t begin, std::uint64_t end, std::uint64_t a = 0, std::uint64_t b = 0) {
  return {begin, end, hook, 1, 0, 0, a, b, 0, 0, 0};
}

// As record_block.cpp lays them out, behind the RecordsHead.
std::string packed(const Records& records, PackedCodec codec = kCodecNone) {
  static const auto packer = std::make_unique<Packer>();
  packer->begin();
  for (const Record& r : records) packer->add(r);
  const PackedRows rows = packer->finish();
  std::string stored(rows.bytes, rows.size);
  if (codec == kCodecZstd) {
    stored.resize(rows.size + 4096);
    stored.resize(compressed(rows.bytes, rows.size, stored.data(), stored.size()));
  }
  const PackedHead head{rows.times_bytes, rows.rest_bytes, static_cast<std::uint32_t>(stored.size()), codec, 0};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + stored;
}

bool unpacked(const std::string& bytes, std::size_t count, Records& out) {
  return analysis::unpack(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(),
                          static_cast<std::uint32_t>(count), out);
}

// The lap is not kept.
std::string text_of(const Records& records) {
  std::string text;
  for (Record r : records) {
    r.lap = 0;
    text.append(reinterpret_cast<const char*>(&r), sizeof r);
  }
  return text;
}

void expect_same(const Records& records) {
  Records back;
  ASSERT_TRUE(unpacked(packed(records), records.size(), back));
  EXPECT_EQ(text_of(back), text_of(records));
}

std::uint64_t any_word(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return 0;
    case 1:
      return ~std::uint64_t{0};
    case 2:
      return random() % 3;
    case 3:
      return std::uint64_t{1} << random() % 64;
    default:
      return random() >> random() % 64;
  }
}

Records any_records(std::mt19937_64& random, std::size_t count) {
  Records records;
  for (std::size_t i = 0; i < count; ++i) {
    Record r = records.empty() || random() % 4 == 0 ? Record{} : records[random() % records.size()];
    if (r.hook == 0 || random() % 8 == 0)
      r.hook = static_cast<std::uint16_t>(1 + random() % (random() % 2 ? 4 : 65535));
    for (std::uint64_t* word : {&r.begin_ticks, &r.end_ticks, &r.a, &r.b, &r.c, &r.d, &r.e})
      if (random() % 3 == 0) *word = any_word(random);
    if (random() % 5 == 0) r.b = pack_post(static_cast<std::uint32_t>(random()), r.end_ticks - random() % 5000);
    if (random() % 4 == 0) r.flags = static_cast<std::uint16_t>(random());
    if (random() % 4 == 0) r.stack = static_cast<std::uint16_t>(random());
    records.push_back(r);
  }
  return records;
}

TEST(Pack, TheWorkedExampleIsWhatTheCodeWrites) {
  const Records records = {record(5, 1000, 1300, 7), record(5, 1400, 1650, 9), record(5, 1800, 2100, 9)};
  const std::string bytes = packed(records).substr(sizeof(PackedHead));
  const unsigned char expected[] = {0x4b, 0x25, 0x48, 0xd0, 0x07, 0x2c, 0x01, 0xc8, 0xfa, 0x2c,
                                    0x01, 0x2c, 0x01, 0x05, 0x00, 0x01, 0x0e, 0x01, 0x04};
  EXPECT_EQ(bytes, std::string(reinterpret_cast<const char*>(expected), sizeof expected));
  expect_same(records);
}

TEST(Pack, NoRecordAndOneRecordComeBack) {
  expect_same({});
  expect_same({record(65535, 0, 0)});
  expect_same({record(1, ~std::uint64_t{0}, 0, ~std::uint64_t{0}, ~std::uint64_t{0})});
}

TEST(Pack, RecordsOfZerosComeBackInOneByteEach) {
  const Records records(kPackedMost, record(1, 0, 0));
  expect_same(records);
  EXPECT_EQ(packed(records).size(), sizeof(PackedHead) + kPackedMost + 3);
}

TEST(Pack, WhatRepeatsCostsItsTimesAndOneByte) {
  Records records;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Record r = record(static_cast<std::uint16_t>(1 + i % 3), 1000 * i, 1000 * i + 500, i * i % 997 << 20, i % 100 % 7);
    r.a = (i % 100) << 30;
    records.push_back(r);
  }
  for (std::size_t i = 0; i < records.size(); ++i) records[i].hook = static_cast<std::uint16_t>(1 + i % 100 % 3);
  expect_same(records);
  EXPECT_LT(packed(records).size(), records.size() * 6);
}

TEST(Pack, EveryFlagAndStackComesBack) {
  Records records;
  for (unsigned i = 0; i < 3000; ++i) {
    Record r = record(9, 10 * i, 10 * i + 3);
    r.flags = static_cast<std::uint16_t>(i % 2 ? 1u << i / 2 % 16 : i);
    r.stack = static_cast<std::uint16_t>(i * 37);
    records.push_back(r);
  }
  expect_same(records);
}

TEST(Pack, TimesThatRunBackwardsAndWrapComeBack) {
  Records records;
  std::uint64_t step = 1;
  for (unsigned i = 0; i < 64; ++i, step <<= 1) {
    records.push_back(record(2, 0 - step, step));
    records.push_back(record(2, step, 0 - step));
    records.push_back(record(2, step - 1, step - 2));
  }
  expect_same(records);
}

TEST(Pack, WakersComeBackWhetherNearFarOrAbsent) {
  Records records;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t end = (i << 40) + i * 3000;
    const std::uint64_t lag = i % 50 == 0 ? std::uint64_t{1} << 41 : i % 900;
    records.push_back(record(3, end - 2000, end, 0x7f0000001000,
                             i % 5 == 0 ? 0 : pack_post(static_cast<std::uint32_t>(4000 + i % 7), end - lag)));
  }
  expect_same(records);
}

TEST(Pack, AnyRecordsComeBack) {
  std::mt19937_64 random(3);
  for (std::size_t count : {1u, 2u, 3u, 17u, 255u, 1000u, kPackedMost}) {
    for (int round = 0; round < 20; ++round) expect_same(any_records(random, count));
  }
}

TEST(Pack, TheWorstRecordsFitTheRoomThatIsKeptForThem) {
  std::mt19937_64 random(4);
  Records records;
  for (std::uint32_t i = 0; i < kPackedMost; ++i) {
    records.push_back({random() | 1ull << 63, random(), static_cast<std::uint16_t>(i + 1), 1,
                       static_cast<std::uint16_t>(random() | 1), static_cast<std::uint16_t>(random() | 1), random(),
                       random(), random(), random(), random()});
  }
  expect_same(records);
}

TEST(Pack, CompressedRecordsComeBack) {
  std::mt19937_64 random(5);
  for (std::size_t count : {200u, 3000u, kPackedMost}) {
    Records records = any_records(random, count);
    std::fill(records.begin() + static_cast<std::ptrdiff_t>(count / 2), records.end(), record(1, 5, 6));
    const std::string bytes = packed(records, kCodecZstd);
    ASSERT_LT(bytes.size(), packed(records).size());
    Records back;
    ASSERT_TRUE(unpacked(bytes, records.size(), back));
    EXPECT_EQ(text_of(back), text_of(records));
  }
}

TEST(Pack, WhatCannotBecomeSmallerIsNotCompressed) {
  char out[256];
  EXPECT_EQ(compressed("abc", 3, out, sizeof out), 0u);
  std::mt19937 random(6);
  std::string noise;
  for (int i = 0; i < 4096; ++i) noise += static_cast<char>(random());
  EXPECT_EQ(compressed(noise.data(), noise.size(), out, sizeof out), 0u);
  const std::string zeros(100000, '\0');
  EXPECT_GT(compressed(zeros.data(), zeros.size(), out, sizeof out), 0u) << "the context is sound after a failure";
}

// The block's checksum finds each of these; this is about what an attacker who makes the checksum right can do.
TEST(Unpack, ChangedBytesAreRefusedOrGiveAsManyRecordsButNeverReadOutside) {
  std::mt19937_64 random(7);
  for (const PackedCodec codec : {kCodecNone, kCodecZstd}) {
    Records records = any_records(random, 60);
    records.resize(100, record(1, 5, 6));
    const std::string whole = packed(records, codec);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
        Records back(1);
        const bool sound = unpacked(bytes, records.size(), back);
        ASSERT_EQ(back.size(), sound ? records.size() + 1 : 1);
      }
    }
  }
}

TEST(Unpack, BytesThatEndTooSoonAreRefused) {
  std::mt19937_64 random(8);
  const Records records = any_records(random, 50);
  for (const PackedCodec codec : {kCodecNone, kCodecZstd}) {
    const std::string whole = packed(records, codec);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // In memory of just that size, so that a sanitizer sees a byte too many.
      const std::string bytes(whole.data(), size);
      Records back;
      ASSERT_FALSE(unpacked(bytes, records.size(), back)) << size;
    }
  }
}

TEST(Unpack, ClaimsAreBoundedBeforeAnythingIsAllocated) {
  Records back;
  std::string bytes = packed({record(1, 0, 0)});
  EXPECT_FALSE(unpacked(bytes, kPackedMost + 1, back));
  EXPECT_FALSE(unpacked(bytes, 0xffffffff, back));
  EXPECT_FALSE(unpacked(bytes, 2, back));
  for (std::size_t field : {offsetof(PackedHead, times_bytes), offsetof(PackedHead, rest_bytes),
                            offsetof(PackedHead, stored_bytes), offsetof(PackedHead, codec)}) {
    std::string damaged = bytes;
    damaged[field] = '\x7f';
    EXPECT_FALSE(unpacked(damaged, 1, back)) << field;
    if (field != offsetof(PackedHead, codec)) damaged[field + 3] = '\x7f';
    EXPECT_FALSE(unpacked(damaged, 1, back)) << field;
  }
  EXPECT_THAT(back, testing::IsEmpty());
}

}  // namespace
}  // namespace hostprobe::probe
