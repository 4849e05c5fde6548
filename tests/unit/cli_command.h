// cli_command.h: runs the built `hostprobe` command and gives back what it said.
#pragma once

#include <string>
#include <vector>

namespace hostprobe::test {

struct Said {
  int status = -1;  // exit status; 256 + signal when a signal ended it
  std::string out;
  std::string err;
};

// `extra` is added to the environment, which holds no HOSTPROBE_* of whoever runs the tests.
Said hostprobe(const std::vector<std::string>& arguments, const std::vector<std::string>& extra = {},
               const std::string& folder = "");

}  // namespace hostprobe::test
