#!/usr/bin/env bash
# demo.sh: from a fresh machine to a first report. Installs what is missing, builds, runs a small training loop on one
# simulated GPU under hostprobe, and prints what hostprobe found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: ./examples/demo.sh [TRAIN_LOOP OPTIONS]

Builds hostprobe into ./build, records examples/train_loop on one simulated GPU, prints the report.

examples
  ./examples/demo.sh
  ./examples/demo.sh --steps 50
TEXT
}

case ${1:-} in -h | --help) usage; exit ;; esac

./setup.sh demo
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
cmake --preset release "${launcher[@]}" --log-level=WARNING >&2
cmake --build build --target hostprobe_probe hostprobe_command simnode_cuda train_loop >&2

# The folder is kept, because the last line invites the reader to look further; a fresh one for every demo.
run=$(mktemp -d "${TMPDIR:-/tmp}/hostprobe-demo.XXXXXX")
build/bin/hostprobe run -o "$run" --simgpu 1 -- build/examples/train_loop "$@" >&2
build/bin/hostprobe report "$run"
echo
echo "The run is in $run; next: build/bin/hostprobe dump $run"
