#!/usr/bin/env bash
# guest_tests.sh: what guest.sh runs in the machine of arm64: the demo, recorded, its report, and tests of what qemu-user has not
# got: perf events, ptrace, process_vm_readv, seccomp filters, rseq, and a real kernel's threads and signals.
#
# guest_tests.sh FOLDER [long]: FOLDER gets what test_guest.py compares; `long` runs every test of tests/run.
set -uo pipefail

readonly build=build-aarch64 folder=$1 what=${2:-smoke}
failed=()

say() { echo "guest: $*"; }

# step NAME COMMAND…
step() {
  local begin=$SECONDS
  say "$1"
  "${@:2}" || failed+=("$1")
  say "$1: $((SECONDS - begin)) s"
}

demo() {
  # Its loader needs 200 ms for a batch, so that it is the slowest part whatever an emulator makes of the others.
  $build/bin/hostprobe run -o "$folder/demo" --simgpu 1 -- $build/examples/train_loop --steps 30 --kernels 20 --load-us 200000 \
    >"$folder/demo.said" 2>"$folder/demo.messages" || return
  $build/bin/hostprobe report "$folder/demo" &&
    $build/bin/hostprobe report "$folder/demo" --json >"$folder/demo.json" &&
    $build/bin/hostprobe dump "$folder/demo" --json >"$folder/demo.jsonl"
}

# tests PROGRAM LIST: the cases that the list names, a filter of gtest a line; or all, but for those it leaves out (-FILTER).
tests() {
  local program=$1 list=$2 chosen left_out
  chosen=$(grep -v '^[#-]' "$list" | paste -sd :)
  left_out=$(sed -n 's/^-//p' "$list" | paste -sd :)
  [[ $what == long ]] && chosen='*'
  "$program" --gtest_brief=1 --gtest_filter="$chosen${left_out:+-$left_out}"
}

grep -m 1 Features /proc/cpuinfo
step "the demo" demo
step "tests of tests/run" tests $build/bin/run_tests tests/arm64/guest_tests.txt
if [[ ${#failed[@]} -gt 0 ]]; then
  say "failed: ${failed[*]}"
  exit 1
fi
