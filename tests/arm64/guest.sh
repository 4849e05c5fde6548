#!/usr/bin/env bash
# guest.sh: starts a machine of arm64 under qemu-system, with Debian's kernel and programs and this checkout in it, and runs there
# what guest_tests.sh says, or another command.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'TEXT'
usage: ./tests/arm64/guest.sh [--cpu NAME] [--out FOLDER] [--seconds N] [--] [COMMAND…]

  Installs what is missing (./setup.sh guest) and ends with COMMAND's status. Without COMMAND: builds preset aarch64 into
  build-aarch64/, records the demo and runs tests in the machine (guest_tests.sh), and compares with this machine's own build.
  Ends with 77 and the reason where there is no qemu-system-aarch64, or no Debian to start in it.

  --cpu NAME     CPU of the machine (default: max, which has pointer authentication, landing pads, LSE and SVE)
  --out FOLDER   a folder that the machine writes to, under its own name (default: a new one, removed at the end)
  --seconds N    how long the machine may run (default: 3000)

  The checkout may be written to in the machine, and what was written is gone at its end.

examples
  ./tests/arm64/guest.sh
  ./tests/arm64/guest.sh --cpu cortex-a72 -- build-aarch64/bin/run_tests --gtest_filter='Stacks.*'
TEXT
}

say() { echo "arm64 guest: $*" >&2; }

skip() {
  say "left out: $*"
  exit 77
}

cpu=max out= seconds=3000
while [[ $# -gt 0 ]]; do
  case $1 in
    --cpu) cpu=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    -h | --help) usage; exit ;;
    --) shift; break ;;
    -*) usage >&2; exit 2 ;;
    *) break ;;
  esac
done

./setup.sh guest || skip "./setup.sh guest could not install what is missing; its message is above"
command -v qemu-system-aarch64 >/dev/null || skip "there is no qemu-system-aarch64 (qemu-system-arm)"
command -v cpio >/dev/null || skip "there is no cpio"
guest=$(./setup.sh --paths | sed -n 's/^ARM64_GUEST=//p')
kernels=("$guest"/boot/vmlinuz-*)
[[ -f ${kernels[-1]} ]] || skip "there is no kernel in $guest/boot"
readonly guest kernel=${kernels[-1]}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/hostprobe-guest.XXXXXX")
machine=
finish() {
  [[ -z $machine ]] || kill "$machine" 2>/dev/null || true
  rm -rf "$scratch"
}
trap finish EXIT
[[ -n $out ]] || out=$scratch/out
mkdir -p "$out"
out=$(realpath "$out")
rm -f "$out/status" "$out/output"

# The modules that are needed to reach the root, with what they need.
make_initramfs() {
  local folder=$scratch/initramfs version=${kernel##*/vmlinuz-} modules name path
  modules=lib/modules/$version
  mkdir -p "$folder"/{bin,$modules}
  cp "$guest/bin/busybox" "$folder/bin/"
  cp "$guest/$modules"/modules.{order,builtin*} "$folder/$modules/"
  cp tests/arm64/guest_init.sh "$folder/init"
  chmod +x "$folder/init"
  for name in virtio_pci 9pnet_virtio 9p overlay virtio-rng; do
    for path in $(sed -n "s,^\([^:]*/$name\.ko[^:]*\): *,\1 ,p" "$guest/$modules/modules.dep"); do
      mkdir -p "$folder/$modules/${path%/*}"
      cp "$guest/$modules/$path" "$folder/$modules/$path"
    done
  done
  PATH=$PATH:/sbin:/usr/sbin depmod -b "$folder" "$version"
  (cd "$folder" && find . | cpio --quiet -o -H newc) >"$scratch/initramfs.cpio"
}

# shared TAG FOLDER [OPTION]: as qemu wants it.
shared() { echo "-fsdev local,id=$1,path=$2,security_model=none,multidevs=remap${3:+,$3} -device virtio-9p-pci,fsdev=$1,mount_tag=$1"; }

# start COMMAND…: runs it in the machine and returns its status, with what it says on stdout.
start() {
  local status
  printf '%q ' "$@" >"$out/command"
  : >"$out/output"
  # shellcheck disable=SC2046
  timeout "$seconds" qemu-system-aarch64 -machine virt,gic-version=3 -cpu "$cpu" -smp 2 -m 3072 -nodefaults -display none -no-reboot \
    -kernel "$kernel" -initrd "$scratch/initramfs.cpio" -append "console=ttyAMA0 quiet panic=-1 CHECKOUT=$PWD OUT=$out" \
    -serial "file:$scratch/console" $(shared root "$guest" readonly=on) $(shared checkout "$PWD" readonly=on) $(shared out "$out") &
  machine=$!
  tail -n +1 -f --pid="$machine" "$out/output"
  wait "$machine" || true
  machine=
  status=$(cat "$out/status" 2>/dev/null) || {
    say "the machine ended, or was ended after $seconds s, before the command did; its console:"
    tail -20 "$scratch/console" >&2
    return 1
  }
  return "$status"
}

build() {
  local launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  fi
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
  say "building preset aarch64"
  cmake --preset aarch64 "${launcher[@]}" --log-level=WARNING >&2
  cmake --build --preset aarch64 --target arm64_guest_tests >&2
  say "building preset release, which reads what is recorded"
  cmake --preset release "${launcher[@]}" --log-level=WARNING >&2
  cmake --build --preset release --target hostprobe_probe hostprobe_command simnode_cuda train_loop >&2
}

if [[ $# -gt 0 ]]; then
  make_initramfs
  start "$@"
  exit
fi
build
make_initramfs
start tests/arm64/guest_tests.sh "$out"
/usr/bin/python3 -B tests/arm64/test_guest.py "$out" -v
