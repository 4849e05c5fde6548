# Language level, warnings, output places, sanitizers: what every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(HOSTPROBE_SIMNODE_DIR ${CMAKE_BINARY_DIR}/lib/hostprobe/simnode)

add_library(hostprobe_warnings INTERFACE)
target_compile_options(hostprobe_warnings INTERFACE -Wall -Wextra -Wno-psabi -Wpedantic -Wshadow -Wno-unused-parameter)

# HOSTPROBE_SANITIZE=address,undefined or thread. Applied to everything except what is injected into other processes
# (libhostprobe.so, the simulated libraries): a sanitizer runtime must be the first library of a process, so it can never
# be brought in by a preload.
set(HOSTPROBE_SANITIZE "" CACHE STRING "Sanitizers for everything that is not injected, comma-separated")
add_library(hostprobe_sanitize INTERFACE)
if(HOSTPROBE_SANITIZE)
  target_compile_options(hostprobe_sanitize INTERFACE -fsanitize=${HOSTPROBE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(hostprobe_sanitize INTERFACE -fsanitize=${HOSTPROBE_SANITIZE})
endif()
option(HOSTPROBE_COVERAGE "Measure line coverage of everything that is not injected" OFF)
if(HOSTPROBE_COVERAGE)
  target_compile_options(hostprobe_sanitize INTERFACE --coverage)
  target_link_options(hostprobe_sanitize INTERFACE --coverage)
endif()

# Nothing that is built names the folder in which it was; gcov, for one, has to find the sources again.
if(NOT HOSTPROBE_COVERAGE)
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
endif()

# Numbers of a document are the same on every architecture: aarch64 has an instruction that multiplies and adds with one rounding, which
# compilers take where they may.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>)
endif()

# The commit that was built, for reports. Absent in a tarball.
execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                OUTPUT_VARIABLE HOSTPROBE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT HOSTPROBE_COMMIT)
  set(HOSTPROBE_COMMIT unknown)
endif()
