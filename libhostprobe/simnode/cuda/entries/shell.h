// What the generated shells (generate_entries.py) need: the count, the per-thread default stream of the `_ptsz` forms, and
// the shapes of the generated tables. A shell is the only place that counts: models call models, never shells.
#pragma once
#include "extra_entries.h"
#include "node/counts.h"

#include <cstdint>

namespace simnode {

extern const char* const kEntryNames[];
extern const unsigned kEntryCount;

struct Address {
  const char* name;
  bool per_thread;
  int version;
  void* function;
};
extern const Address kAddresses[];
extern const unsigned kAddressCount;

struct ErrorName {
  int value;
  const char* name;
};
extern const ErrorName kErrorNames[];
extern const unsigned kErrorCount;

inline CUstream per_thread(CUstream stream) { return stream == nullptr ? CU_STREAM_PER_THREAD : stream; }

// A launch configuration whose null stream means the calling thread's own.
class PerThreadConfig {
 public:
  explicit PerThreadConfig(const CUlaunchConfig* config) {
    if (config == nullptr) return;
    copy_ = *config;
    copy_.hStream = per_thread(copy_.hStream);
    given_ = true;
  }
  const CUlaunchConfig* get() const { return given_ ? &copy_ : nullptr; }

 private:
  CUlaunchConfig copy_{};
  bool given_ = false;
};

}  // namespace simnode
