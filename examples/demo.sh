#!/usr/bin/env bash
# demo.sh: from a fresh machine to a first report. Installs what is missing, builds, runs a small training loop on one
# simulated GPU under hostprobe, and prints what hostprobe found. Its data loader is too slow; so the loop runs once more with what the
# report advises, and the difference is shown.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: ./examples/demo.sh [TRAIN_LOOP OPTIONS]

Builds hostprobe into ./build, records examples/train_loop on one simulated GPU, prints the report.
Without options its data loader is too slow, and a second run with more loader threads shows what that gains.

examples
  ./examples/demo.sh
  ./examples/demo.sh --kernel-us 1 --host-us 5     options of your own: one run, one report
TEXT
}

case ${1:-} in -h | --help) usage; exit ;; esac

./setup.sh demo
launcher=()
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1  # what ccache keeps of one clone serves every other
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
cmake --preset release "${launcher[@]}" --log-level=WARNING >&2
cmake --build build --target hostprobe_probe hostprobe_command simnode_cuda train_loop >&2

record() {
  local run=$1
  shift
  build/bin/hostprobe run -o "$run" --simgpu 1 -- build/examples/train_loop "$@" >&2
}

# The folder is kept, because the last line invites the reader to look further; a fresh one for every demo.
run=$(mktemp -d "${TMPDIR:-/tmp}/hostprobe-demo.XXXXXX")
slow=(--load-us 5000)
record "$run" "${@:-${slow[@]}}"
build/bin/hostprobe report "$run"
if [[ $# == 0 ]]; then
  record "$run-fixed" "${slow[@]}" --threads 3
  echo
  echo "The same with three loader threads, hostprobe diff $run $run-fixed:"
  build/bin/hostprobe diff "$run" "$run-fixed" | sed -n '/^WHAT CHANGED/,/^$/p'
fi
echo
echo "The run is in $run; next: build/bin/hostprobe report $run launches"
