# Libraries that more than one room has.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

# hostprobe_room(NAME [PUBLIC targets…] [PRIVATE targets…]): a room outside of the probe as the static library hostprobe_NAME. Its sources
# are the .cpp files in its folder and below, so that no list of them has to be kept.
function(hostprobe_room name)
  cmake_parse_arguments(arg "" "" "PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(hostprobe_${name} STATIC ${sources})
  target_link_libraries(hostprobe_${name} PUBLIC hostprobe_format hostprobe_sanitize ${arg_PUBLIC}
                                          PRIVATE hostprobe_warnings ${arg_PRIVATE})
endfunction()
