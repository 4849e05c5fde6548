// probe_fakes.h: what the probe's record path needs from the parts that only exist in an injected process.
#pragma once
#include <filesystem>

#include "probe/record/hook_row.h"
#include "probe/runtime/options.h"

namespace hostprobe::probe {

// A folder of this test alone; tests run at the same time.
struct Folder {
  std::filesystem::path path;
  Folder();
  ~Folder();
};

// A fresh segment and an open trace file in `folder`; ends with the object.
class Recording {
 public:
  explicit Recording(const char* folder, unsigned buffer_mb = 1, Mode mode = kTrace);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

// A row of the fakes' hook table: sem_wait, cuLaunchKernel, ncclAllReduce.
const Hook& fake_hook(const char* name);

// Bells rung by threads that handed a chunk over or found none.
unsigned bells_rung();
// The stream of the launch that was sampled last.
extern const void* g_sampled_stream;
// The stream of which a capture takes the launches.
extern const void* g_captured_stream;

}  // namespace hostprobe::probe
