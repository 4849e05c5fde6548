# What a wheel holds besides the Python package, at the places where the command looks for its parts: below the environment's
# own folder (bin/, lib/, lib/hostprobe/). Included when scikit-build-core drives the build (pyproject.toml).
install(TARGETS hostprobe_command RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
install(TARGETS hostprobe_probe LIBRARY DESTINATION ${SKBUILD_DATA_DIR}/lib COMPONENT wheel NAMELINK_SKIP)
install(TARGETS simnode_cuda simnode_nccl simnode_nvml
        LIBRARY DESTINATION ${SKBUILD_DATA_DIR}/lib/hostprobe/simnode COMPONENT wheel NAMELINK_SKIP)
install(DIRECTORY include/hostprobe DESTINATION ${SKBUILD_DATA_DIR}/include COMPONENT wheel)
