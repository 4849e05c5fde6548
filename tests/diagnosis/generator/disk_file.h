// Files that need the disk each time: entries that are safe there before the next one is written, samples that no cache holds.
#pragma once
#include <chrono>

class JournalFile {
 public:
  JournalFile();
  ~JournalFile();
  void append_until(std::chrono::steady_clock::time_point end);

 private:
  int file_;
};

class SampleFile {
 public:
  SampleFile();
  ~SampleFile();
  void read_until(std::chrono::steady_clock::time_point end);

 private:
  int file_;
  void* buffer_;
  unsigned next_ = 0;
};
