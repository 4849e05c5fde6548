#!/usr/bin/env bash
# alone.sh: the simulated node is a project of its own. It is configured and its smallest library built where there is nothing
# of hostprobe but format/ beside it.
#   alone.sh CUDA_INCLUDE [TARGET]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cuda=$1 target=${2:-simnode_nvml}

folder=$(mktemp -d "${TMPDIR:-/tmp}/simnode-alone.XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/libhostprobe"
cp -r libhostprobe/simnode libhostprobe/format "$folder/libhostprobe/"
cmake -G Ninja -S "$folder/libhostprobe/simnode" -B "$folder/build" -DCMAKE_BUILD_TYPE=Debug -DHOSTPROBE_CUDA_INCLUDE="$cuda" \
  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON --log-level=WARNING
cmake --build "$folder/build" --target "$target"
