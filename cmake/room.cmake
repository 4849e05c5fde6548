# Libraries that more than one room has.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

# Most of a file's compile time goes into headers that its neighbours read as well, so files of a folder can be compiled together.
# Then what has no name outside of a file needs one of its own in its folder. In a debug build each file stands alone.
option(HOSTPROBE_UNITY "Compile the files of each room's folder together" OFF)

# hostprobe_unity(TARGET FILES…): FILES, of one folder or of several, are compiled together, each folder for itself.
function(hostprobe_unity target)
  if(NOT HOSTPROBE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(file ${ARGN})
    get_filename_component(folder ${file} ABSOLUTE)
    get_filename_component(folder ${folder} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER "room_${folder}" folder)
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
endfunction()

# hostprobe_cold(TARGET): a room that works on little, as the command line does: optimizing it is a fifth of its compile time.
function(hostprobe_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
endfunction()

# hostprobe_room(NAME [PUBLIC targets…] [PRIVATE targets…]): a room outside of the probe as the static library hostprobe_NAME. Its sources
# are the .cpp files in its folder and below, so that no list of them has to be kept.
function(hostprobe_room name)
  cmake_parse_arguments(arg "" "" "PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(hostprobe_${name} STATIC ${sources})
  hostprobe_unity(hostprobe_${name} ${sources})
  target_link_libraries(hostprobe_${name} PUBLIC hostprobe_format hostprobe_sanitize ${arg_PUBLIC}
                                          PRIVATE hostprobe_warnings ${arg_PRIVATE})
endfunction()
