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
share=$prefix/installed/share
/usr/bin/python3 "$here/../rules.py" links_in_docs_resolve --source "$share/doc/hostprobe" --build "$build" ||
  fail "an installed page links to one that is not installed"
for name in hostprobe hostprobe-run hostprobe-report hostprobe-ctl; do
  [[ -s $share/man/man1/$name.1 ]] || fail "no man page $name"
done
completed=$(bash -c 'source "$1"; COMP_WORDS=(hostprobe run --buf) COMP_CWORD=2; _hostprobe; echo "${COMPREPLY[*]}"' \
  bash "$share/bash-completion/completions/hostprobe")
[[ $completed == --buffer-mb ]] || fail "hostprobe run --buf is completed to '$completed'"
"$command" run -o "$prefix/run" -- /bin/sh -c 'exit 7' && fail "run did not hand on the program's status"
status=0
"$command" run -o "$prefix/run" -- /bin/sh -c 'exit 7' || status=$?
[[ $status -eq 7 ]] || fail "run ended with $status, the program with 7"
if grep -rIl -e "$build" "$prefix/installed"; then fail "these installed text files name the build folder"; fi
