#!/usr/bin/env bash
# run.sh: builds hostprobe for aarch64 on this machine and runs there, under qemu-user, what qemu-user can run: the unit and
# golden tests, and a recording that this machine's own build reads as well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'TEXT'
usage: ./tests/arm64/run.sh [CTEST-OPTION…]

  Installs what is missing (./setup.sh arm64), builds preset aarch64 into build-aarch64/, runs its tests, and says which are left
  out and why. Ends with 77 and the reason where there is no compiler for aarch64 or no qemu-user, and they cannot be installed.

examples
  ./tests/arm64/run.sh
  ./tests/arm64/run.sh -R unit.probe
TEXT
}

say() { echo "arm64: $*" >&2; }

skip() {
  say "left out: $*"
  exit 77
}

case ${1:-} in -h | --help) usage; exit ;; esac

./setup.sh arm64 || skip "./setup.sh arm64 could not install what is missing; its message is above"
command -v aarch64-linux-gnu-g++ >/dev/null || skip "there is no aarch64-linux-gnu-g++ (g++-aarch64-linux-gnu)"
command -v qemu-aarch64 >/dev/null || command -v qemu-aarch64-static >/dev/null || skip "there is no qemu-aarch64 (qemu-user)"

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
say "building preset aarch64"
cmake --preset aarch64 "${launcher[@]}" --log-level=WARNING >&2
cmake --build --preset aarch64 --target arm64_tests >&2
readonly list=tests/arm64/left_out.txt
left_out=$(grep -v '^#' "$list" | paste -sd '|')
say "what qemu-user cannot run ($list):"
sed 's/^# */  /' "$list" >&2
say "running preset aarch64"
ctest --preset aarch64 --no-tests=error --parallel "$(nproc)" --exclude-regex "^($left_out)\$" "$@"
