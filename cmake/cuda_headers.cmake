# hostprobe::cuda_headers: cuda.h and cudaTypedefs.h, headers only. From the toolkit where there is one, else from the
# PyPI wheels that setup.sh unpacks into the cache (HOSTPROBE_CACHE). Nothing of CUDA is ever linked.
set(HOSTPROBE_CACHE "$ENV{HOSTPROBE_CACHE}" CACHE PATH "Where setup.sh keeps what is big")
if(NOT HOSTPROBE_CACHE)
  set(HOSTPROBE_CACHE "$ENV{HOME}/.cache/hostprobe")
endif()
find_path(HOSTPROBE_CUDA_INCLUDE cudaTypedefs.h
          PATHS ${HOSTPROBE_CACHE}/cuda-headers/include $ENV{CUDA_HOME}/include /usr/local/cuda/include
          NO_DEFAULT_PATH)
if(NOT HOSTPROBE_CUDA_INCLUDE)
  message(FATAL_ERROR "hostprobe: no cuda.h found. Run ./setup.sh, which takes the headers from PyPI, "
                      "or give -DHOSTPROBE_CUDA_INCLUDE=<folder with cuda.h and cudaTypedefs.h>.")
endif()
add_library(hostprobe_cuda_headers INTERFACE)
add_library(hostprobe::cuda_headers ALIAS hostprobe_cuda_headers)
target_include_directories(hostprobe_cuda_headers SYSTEM INTERFACE ${HOSTPROBE_CUDA_INCLUDE})
