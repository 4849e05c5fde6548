#!/usr/bin/env bash
# check.sh CMAKE BUILD CXX: installs BUILD under a fresh prefix, builds and runs a consumer against it, and checks that the
# installed command works from there.
set -euo pipefail
cmake=$1 build=$2 cxx=$3
here=$(dirname "$(readlink -f "$0")")
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

fail() { echo "check.sh: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$prefix/installed" >"$prefix/install.log" || { cat "$prefix/install.log"; exit 1; }
"$cmake" -S "$here" -B "$prefix/consumer" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix/installed"
"$cmake" --build "$prefix/consumer"
"$prefix/consumer/consumer" | grep -qx target || fail "the consumer does not print the settings"

{ read -r command; read -r preload; read -r simnode; } <"$prefix/consumer/parts"
[[ -f $preload && -e $simnode/libcuda.so.1 && $(readlink "$simnode/libcuda.so") == libcuda.so.1 ]] ||
  fail "a part is missing: $preload, $simnode/libcuda.so.1, or $simnode/libcuda.so -> libcuda.so.1"
"$command" --help >/dev/null
"$command" run -o "$prefix/run" -- /bin/sh -c 'exit 7' && fail "run did not hand on the program's status"
status=0
"$command" run -o "$prefix/run" -- /bin/sh -c 'exit 7' || status=$?
[[ $status -eq 7 ]] || fail "run ended with $status, the program with 7"
if grep -rIl -e "$build" "$prefix/installed"; then fail "these installed text files name the build folder"; fi
