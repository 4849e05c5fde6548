# Package: what is installed besides the targets, which each room installs itself: public headers, licence, and the
# files by which find_package(hostprobe) tells a project where the preload, the command and the simulated driver are.
include(CMakePackageConfigHelpers)

set(HOSTPROBE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/hostprobe)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/hostprobeConfig.cmake.in ${CMAKE_BINARY_DIR}/hostprobeConfig.cmake
  INSTALL_DESTINATION ${HOSTPROBE_PACKAGE_DIR} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hostprobeConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(FILES ${CMAKE_BINARY_DIR}/hostprobeConfig.cmake ${CMAKE_BINARY_DIR}/hostprobeConfigVersion.cmake
        DESTINATION ${HOSTPROBE_PACKAGE_DIR})
install(DIRECTORY include/hostprobe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# With the pages that README.md links to, and what those link to, at the same places relative to it.
install(FILES LICENSE README.md CONTRIBUTING.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES bench/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(DIRECTORY bench/results DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(FILES bench/gpu/RESULTS.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench/gpu)
install(FILES libhostprobe/simnode/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/libhostprobe/simnode)
install(DIRECTORY libhostprobe/format DESTINATION ${CMAKE_INSTALL_DOCDIR}/libhostprobe FILES_MATCHING PATTERN "*.h")
