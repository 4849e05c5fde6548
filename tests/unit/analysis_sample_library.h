// analysis_sample_library.h: addresses inside analysis_sample_library.c, as a traced process would have seen them.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <string>

#include "support/trace_file.h"

namespace hostprobe::test {

class SampleLibrary {
 public:
  SampleLibrary() : handle_(dlopen(HOSTPROBE_TEST_SAMPLE, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~SampleLibrary() { dlclose(handle_); }
  SampleLibrary(const SampleLibrary&) = delete;
  SampleLibrary& operator=(const SampleLibrary&) = delete;

  std::uint64_t address(const char* name) const { return reinterpret_cast<std::uint64_t>(dlsym(handle_, name)); }
  std::uint64_t base() const {
    link_map* map = nullptr;
    dlinfo(handle_, RTLD_DI_LINKMAP, &map);
    return map->l_addr;
  }
  // As the probe would have told where the library lay.
  void add_to(TraceFile& file) const { file.module(base(), base() + (1 << 20), HOSTPROBE_TEST_SAMPLE); }

 private:
  void* handle_;
};

}  // namespace hostprobe::test
