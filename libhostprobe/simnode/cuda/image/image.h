// What is read from the code a program loads: names and parameter layouts of its kernels, its global variables. From PTX
// text, cubin (ELF), fatbin (both, also compressed), or the simulated driver's own text format:
//
//   simnode-module 1
//   kernel NAME [BYTES_OF_PARAMETER …]
//   global NAME BYTES
#pragma once
#include <cuda.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simnode {

struct Parameter {
  size_t offset;
  size_t bytes;
};

struct KernelImage {
  std::string name;
  std::vector<Parameter> parameters;
  bool layout_known = true;
  int registers = 32;
  size_t static_shared_bytes = 0;
  size_t local_bytes = 0;
  int max_threads = 1024;
};

struct GlobalImage {
  std::string name;
  size_t bytes;
};

struct Image {
  std::vector<KernelImage> kernels;
  std::vector<GlobalImage> globals;
};

// `bytes` 0: unknown, as the driver API gives none; the format itself says where it ends.
CUresult read_image(const void* content, size_t bytes, int compute_capability, Image* image);
CUresult read_ptx(const std::string& text, Image* image);
CUresult read_cubin(const std::string& content, Image* image);
// Of several images, the one that fits the compute capability (90 is 9.0) best.
CUresult read_fatbin(const std::string& content, int compute_capability, Image* image);

}  // namespace simnode
