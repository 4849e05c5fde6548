# Toolchain file: for aarch64, on a machine that is none. Libraries come from the folder that `./setup.sh arm64` fills, programs
# that are built run under qemu-user: those that the build itself needs, and the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

if(DEFINED ENV{HOSTPROBE_CACHE})
  set(cache $ENV{HOSTPROBE_CACHE})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(cache $ENV{XDG_CACHE_HOME}/hostprobe)
else()
  set(cache $ENV{HOME}/.cache/hostprobe)
endif()
set(CMAKE_SYSROOT ${cache}/arm64-root)
if(NOT EXISTS ${CMAKE_SYSROOT}/.complete)
  message(FATAL_ERROR "there are no libraries for aarch64 in ${CMAKE_SYSROOT}: run ./setup.sh arm64")
endif()

find_program(HOSTPROBE_AARCH64_CC NAMES aarch64-linux-gnu-gcc aarch64-linux-gnu-gcc-12 REQUIRED)
find_program(HOSTPROBE_AARCH64_CXX NAMES aarch64-linux-gnu-g++ aarch64-linux-gnu-g++-12 REQUIRED)
find_program(HOSTPROBE_QEMU NAMES qemu-aarch64 qemu-aarch64-static REQUIRED)
set(CMAKE_C_COMPILER ${HOSTPROBE_AARCH64_CC})
set(CMAKE_CXX_COMPILER ${HOSTPROBE_AARCH64_CXX})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# With every extension that it knows: pointer authentication, landing pads, LSE and SVE.
set(CMAKE_CROSSCOMPILING_EMULATOR ${HOSTPROBE_QEMU} -cpu max -L ${CMAKE_SYSROOT})

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
