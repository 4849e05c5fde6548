#!/usr/bin/env bash
# run.sh: the one way to run the tests. Installs what is missing, builds, runs everything by ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: ./tests/run.sh [--fast | --long] [--sanitize | --no-sanitize]

  (nothing)       every test, and the unit tests again under ASan + UBSan, the probe's also under TSan
  --fast          without PyTorch, Triton, servers, NVIDIA's drivers, a browser and other real programs (labels
                  python, packages, real_programs, real_drivers, guests, pages), and without sanitizers
  --long          also what takes minutes each of CPython's and PyTorch's suites, each stressor of stress-ng for a minute,
                  and the fast tests in a fresh Debian 13
  --sanitize      with the sanitizers, also after --fast
  --no-sanitize   without them

One test: ctest --test-dir build -R NAME --output-on-failure. Labels: ctest --test-dir build --print-labels.

examples
  ./tests/run.sh
  ./tests/run.sh --fast
TEXT
}

profile=test
sanitize=
long=()
for argument in "$@"; do
  case $argument in
    --fast) profile=fast ;;
    --long) long=(--build-config long) ;;
    --sanitize) sanitize=yes ;;
    --no-sanitize) sanitize=no ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
  esac
done
if [[ -z $sanitize ]]; then [[ $profile == fast ]] && sanitize=no || sanitize=yes; fi

say() { echo "tests: $*" >&2; }

jobs=$(($(nproc) + 1))  # some wait most of the time

# TSan of g++ 12 stops at once where the kernel places memory with more than 28 random bits, the build's look for test
# cases included.
fixed_addresses=()
if setarch --addr-no-randomize true 2>/dev/null; then fixed_addresses=(setarch --addr-no-randomize); fi

# What ccache keeps of one clone serves every other.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

# build PRESET [TARGET [PREFIX…]]
build() {
  local launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  fi
  local settings=()
  [[ $1 == release ]] && settings=(-DHOSTPROBE_BPF=ON)  # not what users get, which one line of configuration makes
  say "building preset $1"
  cmake --preset "$1" "${launcher[@]}" "${settings[@]}" --log-level=WARNING >&2
  "${@:3}" cmake --build --preset "$1" --target "${2:-all}" >&2
}

# Of the release build, as ctest keeps it: name, runs, mean cost.
say_longest() {
  local costs=build/Testing/Temporary/CTestCostData.txt
  [[ -f $costs ]] || return 0
  say "what took longest, in seconds:"
  sed '/^---$/,$d' "$costs" | awk '{ printf "%.1f %s\n", $NF, $1 }' | sort -rn | sed -n 1,10p |
    while read -r seconds name; do say "$(printf '%8s  %s' "$seconds" "$name")"; done
}

# Settings left over in the caller's shell would probe the compiler and change every test.
for name in "${!HOSTPROBE_@}" "${!SIMNODE_@}"; do
  [[ $name == HOSTPROBE_CACHE ]] || unset "$name"
done

./setup.sh "$profile"
build release
failed=()
if [[ $sanitize == yes ]]; then
  build asan tests/unit/all
  ctest --preset asan --no-tests=error --parallel "$jobs" || failed+=(asan)
  build tsan unit_probe "${fixed_addresses[@]}"  # the other rooms have one thread
  "${fixed_addresses[@]}" ctest --preset tsan --no-tests=error || failed+=(tsan)
fi
exclude=()
[[ $profile == fast ]] && exclude=(--label-exclude '^(python|packages|real_programs|real_drivers|guests|diagnosis|pages)$')
say "running preset release"
failed_log=build/Testing/Temporary/LastTestsFailed.log
rm -f "$failed_log"
if ! ctest --preset release --no-tests=error --parallel "$jobs" "${exclude[@]}" "${long[@]}"; then
  # Why, and why not more often: docs/decisions/0030-tests-run-again.md.
  again=()
  [[ -f $failed_log ]] && mapfile -t again < <(cut -d: -f2- "$failed_log")
  if ((${#again[@]} >= 1 && ${#again[@]} <= 3)) && say "running alone what failed: ${again[*]}" &&
    ctest --preset release --no-tests=error --rerun-failed --parallel 1 "${long[@]}"; then
    say "passed only when run again, alone: ${again[*]}"
  else
    failed+=(release)
  fi
fi
say_longest
if [[ ${#failed[@]} -gt 0 ]]; then
  say "failed: ${failed[*]}"
  exit 1
fi
