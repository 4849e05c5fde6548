// layout.h: where the parts of hostprobe lie, seen from the running command. Build tree and installed tree are the same.
//
// Room 4.
#pragma once

#include <string>

namespace hostprobe::cli {

// Throw std::runtime_error, with the place that was looked at, when the part is not there.
std::string probe_library();
// Whether it is there or not, and without that.
std::string place_of_probe_library();
std::string simnode_folder();

// `folder`: what Python is to look for it in; "": the interpreter has it.
struct PythonPackage {
  std::string interpreter, folder;
};
PythonPackage python_package();

}  // namespace hostprobe::cli
