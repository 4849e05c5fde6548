# hostprobe::cuda_headers: cuda.h and cudaTypedefs.h, headers only; nothing of CUDA is ever linked. From the toolkit or from
# the PyPI wheels that setup.sh unpacks into its cache, whichever is newer: the simulated driver has the functions that the
# header has. setup.sh asks whether the toolkit's will do in toolkit_has_headers.
set(HOSTPROBE_CUDA_LEAST 13000)  # CUDA_VERSION of the oldest cuda.h with every type the simulated driver implements

if(DEFINED ENV{HOSTPROBE_CACHE})
  set(hostprobe_cache "$ENV{HOSTPROBE_CACHE}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(hostprobe_cache "$ENV{XDG_CACHE_HOME}/hostprobe")
else()
  set(hostprobe_cache "$ENV{HOME}/.cache/hostprobe")
endif()

function(hostprobe_cuda_version folder result)
  set(${result} 0 PARENT_SCOPE)
  if(EXISTS "${folder}/cuda.h" AND EXISTS "${folder}/cudaTypedefs.h")
    file(STRINGS "${folder}/cuda.h" line REGEX "^#define CUDA_VERSION [0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+" version "${line}")
    set(${result} "${version}" PARENT_SCOPE)
  endif()
endfunction()

# A remembered folder that has gone (a toolkit removed, a cache emptied) is looked for again.
if(HOSTPROBE_CUDA_INCLUDE AND NOT EXISTS "${HOSTPROBE_CUDA_INCLUDE}/cudaTypedefs.h")
  unset(HOSTPROBE_CUDA_INCLUDE CACHE)
endif()
if(NOT HOSTPROBE_CUDA_INCLUDE)
  set(newest 0)
  foreach(folder "$ENV{CUDA_HOME}/include" /usr/local/cuda/include "${hostprobe_cache}/cuda-headers/include")
    hostprobe_cuda_version("${folder}" version)
    if(version GREATER_EQUAL HOSTPROBE_CUDA_LEAST AND version GREATER newest)
      set(newest ${version})
      set(HOSTPROBE_CUDA_INCLUDE "${folder}" CACHE PATH "Folder with cuda.h and cudaTypedefs.h" FORCE)
    endif()
  endforeach()
endif()
if(NOT HOSTPROBE_CUDA_INCLUDE)
  message(FATAL_ERROR "hostprobe: no cuda.h of CUDA ${HOSTPROBE_CUDA_LEAST} or later found. Run ./setup.sh, which takes the "
                      "headers from PyPI, or give -DHOSTPROBE_CUDA_INCLUDE=<folder with cuda.h and cudaTypedefs.h>.")
endif()
add_library(hostprobe_cuda_headers INTERFACE)
add_library(hostprobe::cuda_headers ALIAS hostprobe_cuda_headers)
target_include_directories(hostprobe_cuda_headers SYSTEM INTERFACE "${HOSTPROBE_CUDA_INCLUDE}")
