#!/usr/bin/env bash
# run.sh: sets hostprobe up in a fresh Debian 13, builds it there with warnings as errors, and runs the tests that need no
# Python packages. The root folder is made by debootstrap from the mirror that this machine's own apt names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'TEXT'
usage: ./tests/debian13/run.sh [FOLDER [build | test]]

  FOLDER   where the root folder is made, or found again (default: build/debian13)
  build    libhostprobe/ with gcc and with clang, warnings are errors, no tests
  test     (default) the same, then tests/run.sh --fast

Needs root and debootstrap; ends with 77 and the reason where it has not got them.

examples
  ./tests/debian13/run.sh
  ./tests/debian13/run.sh /data/debian13 build
TEXT
}

say() { echo "debian13: $*" >&2; }

skip() {
  say "left out: $*"
  exit 77
}

case ${1:-} in -h | --help) usage; exit ;; esac
folder=$(realpath -m "${1:-build/debian13}")
what=${2:-test}
readonly root="$folder/root"

[[ $(id -u) -eq 0 ]] || skip "only root can make a root folder"
command -v debootstrap >/dev/null || skip "there is no debootstrap (apt-get install debootstrap)"
unshare --mount --pid --fork true 2>/dev/null || skip "this machine lets nobody make namespaces"

make_root() {
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | sort -u | grep -v security |
    head -1)
  [[ -n $mirror ]] || skip "this machine's apt names no mirror of Debian"
  say "making $root"
  rm -rf "$root"
  mkdir -p "$folder"
  debootstrap --variant=minbase --include=ca-certificates trixie "$root" "$mirror" >"$folder/debootstrap.log" ||
    { tail -3 "$folder/debootstrap.log" >&2; exit 1; }
  touch "$root/.complete"
}

# What is committed, and how this machine reaches the network.
fill_root() {
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  find /etc/apt/apt.conf.d -name '99*' -exec cp {} "$root/etc/apt/apt.conf.d/" \;
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  [[ ! -f /etc/pip.conf ]] || cp /etc/pip.conf "$root/etc/"
  [[ -d $root/hostprobe ]] || git init -q "$root/hostprobe"
  git -C "$root/hostprobe" fetch -q "$PWD" HEAD
  git -C "$root/hostprobe" checkout -q --force --detach FETCH_HEAD
}

# inside COMMAND…: in the root folder, with a /proc and /dev of its own, ended with this script.
inside() {
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount -t proc proc "$0/proc"
    mount --rbind /sys "$0/sys"
    mount --rbind /dev "$0/dev"
    cd "$0"
    exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
      CCACHE_DIR=/ccache PIP_CERT=/etc/ssl/certs/ca-certificates.crt bash -c "cd /hostprobe && $1"' "$root" "$*"
}

[[ -f $root/.complete ]] || make_root
fill_root
inside ./setup.sh fast
# The release preset is what the tests run; -Werror asks gcc what only an optimised build shows.
strict="-DHOSTPROBE_BUILD_TESTS=OFF -DHOSTPROBE_BUILD_BENCH=OFF -DHOSTPROBE_BUILD_EXAMPLES=OFF \
-DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache"
for compiler in "gcc g++" "clang clang++"; do
  read -r c cxx <<<"$compiler"
  say "building with $cxx, warnings are errors"
  inside "CC=$c CXX=$cxx cmake --preset release -B build-$c $strict --log-level=WARNING && cmake --build build-$c -- -k 0"
done
[[ $what == test ]] || exit 0
inside ./tests/run.sh --fast
