#!/usr/bin/env bash
# setup.sh: installs what a build (profile demo) or the tests (profiles fast, test, arm64 and guest) need and is missing.
#
# Called by examples/demo.sh and tests/run.sh, and safe to call by hand, twice, or twice at the same time. Distribution
# packages come from apt; what is big or not packaged goes once into a cache outside the clone, where the next clone
# finds it again. Says what it does on stderr; stdout carries only what --paths prints.
set -euo pipefail

readonly cache="${HOSTPROBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hostprobe}"
readonly python=/usr/bin/python3  # never the first one on PATH: the tests compare with Debian's own build

# The only list of versions. A changed line is a changed stamp, and the entry is made again.
readonly cuda_requirements="nvidia-cuda-runtime==13.5.37 nvidia-cuda-crt==13.5.37 nvidia-nvml-dev==13.5.37"
readonly torch_requirements="torch==2.15.0 numpy==2.4.6"
readonly megatron_requirements="megatron-core==0.16.1 packaging==26.3"
readonly triton_requirements="triton==3.9.0 numpy==2.4.6"
readonly clients_requirements="tinygrad==0.14.0 cuda-bindings==13.5.0 cuda-core==1.2.2 numba-cuda[cu13]==0.30.4 \
gpustat==1.1.1 nvidia-ml-py==13.615.71 numpy==2.4.6"
readonly wheel_requirements="scikit-build-core==1.1.2"
readonly guests_requirements="gevent==26.9.0 greenlet==3.5.6 psutil==7.2.2 objgraph==3.7.0 expecttest==0.3.0"
readonly tables_requirements="pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.0 matplotlib==3.11.2 mypy==2.4.1 \
numpy==2.4.6"
readonly job_requirements="duckdb==2.0.1 pyspark==4.3.0 chdb==4.4.0 pyarrow==26.0.1 \
prometheus-client==0.26.0 numpy==2.4.6"
readonly mcp_requirements="mcp==2.3.0 duckdb==2.0.1"
readonly axe_requirements="axe-playwright-python==0.1.8"  # for the rules of axe that it carries, without the rest
readonly perfetto_requirements="perfetto==0.59.1 protobuf==7.36.2"
# What PyTorch's package leaves out, its tests, as Debian's stable release has them: an archive's name and SHA-256.
readonly torch_tests_archive="pool/main/p/pytorch/pytorch_2.6.0+dfsg.orig.tar.xz \
099a9601bc40d67656e75735c44abedb0fbe92d08817852ab7472eebb7e6ddff"
readonly torch_tests="test/test_dataloader.py test/test_multiprocessing.py test/test_multiprocessing_spawn.py \
test/distributed/test_store.py"
readonly torch_folder="$cache/torch-2.15.0"
readonly megatron_folder="$cache/megatron-core-0.16.1"
readonly triton_folder="$cache/triton-3.9.0"
readonly clients_folder="$cache/driver-clients"
readonly wheel_folder="$cache/wheel-builder"
readonly guests_folder="$cache/guests-python"
readonly tables_folder="$cache/tables-python"
readonly job_folder="$cache/job-python"
readonly mcp_folder="$cache/mcp-python"
readonly axe_folder="$cache/axe"
readonly perfetto_folder="$cache/perfetto-python"
readonly torch_tests_folder="$cache/torch-tests-2.6.0"
readonly nginx_folder="$cache/nginx"
readonly prometheus_folder="$cache/prometheus"
readonly newer_python_folder="$cache/newer-python"
# Newer than this machine's, from Debian's unstable, with their headers.
readonly newer_python_packages="python3.14 libpython3.14-dev python3.15 libpython3.15-dev"
readonly arm64_folder="$cache/arm64-root"
readonly guest_folder="$cache/arm64-guest"
readonly least_cuda=13000  # CUDA_VERSION of the oldest cuda.h that has every type the simulated driver implements

# Of NAME|NAME one is enough, as releases of Debian differ in them.
readonly build_packages=(
  g++ cmake ninja-build git python3 python3-dev python3-venv pybind11-dev
  libcli11-dev libfmt-dev nlohmann-json3-dev libzstd-dev libconcurrentqueue-dev libunwind-dev libdw-dev libelf-dev
  zlib1g-dev libdeflate-dev rapidjson-dev libsqlite3-dev
  libtracefs-dev libtraceevent-dev libtracecmd-dev libncurses-dev
  libgtest-dev libgmock-dev libbenchmark-dev)
# clang, bpftool and libbpf-dev (55 MB) make the programs of `hostprobe sched --source bpf` (-DHOSTPROBE_BPF=ON).
readonly test_packages=(ccache "clang-format-14|clang-format" python3-jsonschema valgrind "clang-14|clang" bpftool libbpf-dev musl-tools tmux patchelf)
# Programs that are run preloaded, and what looks at them. redis-tools holds the server as well, without its service.
readonly guest_packages=(stress-ng redis-tools "postgresql-15|postgresql" libjemalloc2 "libtcmalloc-minimal4|libtcmalloc-minimal4t64"
  chromium chromium-driver python3-selenium  # that looks at pages
  ffmpeg nodejs "openjdk-17-jdk-headless|default-jdk-headless" golang-go gdb libboost-context-dev trace-cmd)

# To build for aarch64 and to run that here; and of Debian's arm64 packages those that it is compiled with, and their needs.
readonly arm64_packages=(g++-aarch64-linux-gnu qemu-user)
readonly arm64_root_packages="libc6-dev libstdc++6 libfmt-dev nlohmann-json3-dev libcli11-dev libzstd-dev \
libconcurrentqueue-dev libunwind-dev libdw-dev libelf-dev zlib1g-dev libdeflate-dev rapidjson-dev libsqlite3-dev libtracefs-dev \
libtraceevent-dev libtracecmd-dev libncurses-dev libgtest-dev libgmock-dev"
# A machine of arm64 (tests/arm64/guest.sh): its emulator, and Debian's kernel and programs that it starts.
readonly guest_machine_packages=(qemu-system-arm kmod cpio)
readonly guest_root_packages="linux-image-arm64 busybox-static libc-bin bash coreutils findutils grep sed gawk diffutils procps util-linux \
mount hostname python3 libstdc++6 libfmt9 libzstd1 libunwind8 libdw1 libelf1 zlib1g libdeflate0 libsqlite3-0 libtracefs1 libtraceevent1 \
libtracecmd1 libncurses6 libtinfo6"

say() { echo "setup: $*" >&2; }

die() {
  say "$*"
  exit 1
}

usage() {
  cat <<'TEXT'
usage: ./setup.sh [demo|fast|test|arm64|guest]   install what is missing
       ./setup.sh --paths                        print where things are, NAME=PATH a line; installs nothing

  demo   (default) what a build needs
  fast   also what the tests need that run without Python packages
  test   also what the other tests need: PyTorch (5 GB), Megatron's core, Triton, tinygrad and others, the CUDA
         runtime library, gevent and greenlet, pyarrow, pandas, Polars, DuckDB and matplotlib (700 MB),
         Perfetto's schema (30 MB), the MCP SDK (140 MB), Spark and ClickHouse (1 GB), Prometheus (90 MB),
         tests of PyTorch (27 MB, of which a few files stay), nginx, Chromium (400 MB),
         PostgreSQL, Redis, ffmpeg, stress-ng, node, and Java and Go to compile with (700 MB)
  arm64  also what tests/arm64/run.sh needs: a cross compiler, qemu-user (250 MB), and libraries of Debian's arm64 (150 MB)
  guest  also what tests/arm64/guest.sh needs: qemu-system (150 MB), and Debian's kernel and programs of arm64 (600 MB)

environment
  HOSTPROBE_CACHE   where what is big is kept (default: ~/.cache/hostprobe)

examples
  ./setup.sh test
  HOSTPROBE_CACHE=/data/hostprobe ./setup.sh test
TEXT
}

# Of several names one is enough, and dpkg-query fails where it does not know them all.
is_installed() { { dpkg-query -W -f='${db:Status-Status}\n' "$@" 2>/dev/null || true; } | grep -qx installed; }

# Of several names the first that apt knows, and the last where it knows none yet.
missing_packages() {
  local package names name
  for package in "$@"; do
    IFS='|' read -ra names <<<"$package"
    is_installed "${names[@]}" && continue
    for name in "${names[@]}"; do
      apt-cache show "$name" >/dev/null 2>&1 && break
    done
    echo "$name"
  done
}

# PostgreSQL's package makes a database and starts a server for it, now and at each boot. The tests make their own. What
# runs already goes on running.
without_services() {
  local folder=/etc/postgresql-common/createcluster.d status=0
  mkdir -p "$folder"
  echo "create_main_cluster = off" >"$folder/hostprobe-setup.conf"
  RUNLEVEL=1 SYSTEMD_OFFLINE=1 "$@" || status=$?
  rm -f "$folder/hostprobe-setup.conf"
  rmdir -p --ignore-fail-on-non-empty "$folder"
  return $status
}

install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "no apt here; going on, in the hope that these are installed under other names: $*"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} -eq 0 ]] && return
  if [[ $(id -u) -ne 0 ]]; then
    say "packages are missing and only root can install them. Run this, then try again:"
    echo "sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  say "installing ${missing[*]}"
  (
    flock 9  # apt-get update has a lock of its own that it does not wait for
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    without_services apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
      "${missing[@]}" >&2
  ) 9>"$cache/apt.lock" || die "apt-get could not install ${missing[*]}; its message is above"
}

# entry FOLDER REQUIREMENTS WHAT MAKER: runs `MAKER FOLDER REQUIREMENTS` unless FOLDER was completed for the same
# requirements. The stamp is written last, so an interrupted install is made again; the lock is held by the file
# descriptor, so a killed run leaves no lock behind.
entry() {
  local folder=$1 requirements=$2 what=$3 maker=$4
  local stamp="$folder/.complete" wanted
  wanted="$requirements $($python --version)"
  [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && return
  (
    flock -n 9 || { say "waiting for another run that installs $what"; flock 9; }
    [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && exit
    say "installing $what into $folder"
    rm -rf "$folder"
    "$maker" "$folder" "$requirements" || die "$what could not be installed; the message is above"
    echo "$wanted" >"$stamp"
  ) 9>"$folder.lock"
}

# pip's own cache is not used: it would keep the 5 GB a second time.
pip_install() { "$1/bin/python" -m pip install --quiet --no-cache-dir --progress-bar off "${@:2}" >&2; }

make_venv() {
  local folder=$1 requirements
  read -ra requirements <<<"$2"
  $python -m venv "$folder" && pip_install "$folder" "${requirements[@]}"
}

# For PyTorch's Python, which finds it by PYTHONPATH; without what it lists as needed, which is PyTorch a second time.
make_megatron() {
  local folder=$1 requirements
  read -ra requirements <<<"$2"
  pip_install "$torch_folder" --no-deps --no-compile --target "$folder" "${requirements[@]}"
}

# What is in a wheel, without what it lists as needed.
make_unpacked_wheel() {
  local folder=$1 requirements
  read -ra requirements <<<"$2"
  $python -m venv "$folder.pip" && pip_install "$folder.pip" --no-deps --no-compile --target "$folder" "${requirements[@]}" &&
    rm -rf "$folder.pip"
}

# NVIDIA's wheels hold the files of the toolkit under nvidia/cu13/; only include/ and lib/ are kept.
make_cuda() {
  local folder=$1 requirements
  read -ra requirements <<<"$2"
  mkdir -p "$folder"
  $python -m venv "$folder/pip" &&
    pip_install "$folder/pip" --no-deps --target "$folder/wheels" "${requirements[@]}" &&
    mv "$folder"/wheels/nvidia/cu13/include "$folder"/wheels/nvidia/cu13/lib "$folder/" &&
    rm -rf "$folder/pip" "$folder/wheels"
}

# Debian's mirrors, as apt has them.
mirrors() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | sort -u | grep -v security; }

make_torch_tests() {
  local folder=$1 path sum mirror files
  read -r path sum <<<"$2"
  read -ra files <<<"$torch_tests"
  mkdir -p "$folder"
  for mirror in $(mirrors); do
    /usr/lib/apt/apt-helper download-file "${mirror%/}/$path" "$folder/archive" "SHA256:$sum" >&2 && break
  done
  tar -xf "$folder/archive" -C "$folder" --strip-components=2 --wildcards "${files[@]/#/*/}" && rm "$folder/archive"
}

# Only unpacked: the installed package is a service that listens on port 80.
make_unpacked() {
  local folder=$1 package=$2
  mkdir -p "$folder"
  (
    cd "$folder" && apt-get download -qq "$package" >&2 || { apt-get update -qq >&2 && apt-get download -qq "$package" >&2; }
  ) && dpkg-deb -x "$folder/$package"_*.deb "$folder" && rm "$folder/$package"_*.deb
}

# unpack_all FOLDER PACKAGES OPTION...: these and what they need, by apt with lists of its own, as if nothing were installed: this
# machine's apt learns of no second architecture or release.
unpack_all() {
  local folder=$1 packages package lists="$1/apt"
  read -ra packages <<<"$2"
  mkdir -p "$lists"/{state/lists,cache/archives}/partial
  : >"$lists/status"
  local apt=(apt-get -qq -y --no-install-recommends "${@:3}"
    -o "Dir::State=$lists/state" -o "Dir::State::status=$lists/status" -o "Dir::Cache=$lists/cache"
    -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 -o Dpkg::Use-Pty=0)
  "${apt[@]}" update >&2 && "${apt[@]}" --download-only install "${packages[@]}" >&2 || return
  for package in "$lists"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar --keep-directory-symlink -xf - -C "$folder" || return
  done
  rm -rf "$lists"
}

make_arm64_root() { unpack_all "$1" "$2" -o APT::Architecture=arm64 -o APT::Architectures::=arm64; }

# They run with the libc that they were built for, unpacked beside them.
make_newer_python() {
  local folder=$1 mirror program libraries
  mkdir -p "$folder"
  for mirror in $(mirrors); do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main"
  done >"$folder/sources.list"
  unpack_all "$folder" "$2" -o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null || return
  libraries=$(dirname "$(find "$folder/usr/lib" -name libc.so.6)")
  for program in "$folder"/usr/bin/python3.??; do
    patchelf --set-interpreter "$libraries"/ld-linux-*.so.? "$program" &&
      patchelf --force-rpath --set-rpath "$libraries" "$program" || return
  done
  # Of the headers only Python's own: libc's would be found in front of this machine's.
  find "$folder"/usr/include "$folder"/usr/include/*-linux-gnu -mindepth 1 -maxdepth 1 ! -name 'python3.*' ! -name '*-linux-gnu' \
    -exec rm -rf {} +
  find "$folder" -name '*.a' -delete
  rm -rf "$folder/usr/share" "$folder/sources.list"
}

# Unpacked, not installed: no script of a package runs, so what those would make and a test needs is made here.
make_arm64_guest() {
  local folder=$1 name kernel
  mkdir -p "$folder"/{etc,proc,sys,dev,tmp,run,root,usr/bin,usr/sbin,usr/lib}
  for name in bin sbin lib; do
    ln -s "usr/$name" "$folder/$name"
  done
  make_arm64_root "$folder" "$2" || return
  echo "root:x:0:0:root:/root:/bin/bash" >"$folder/etc/passwd"
  echo "root:x:0:" >"$folder/etc/group"
  echo "127.0.0.1 localhost" >"$folder/etc/hosts"
  [[ -e $folder/bin/sh ]] || ln -s bash "$folder/bin/sh"
  for kernel in "$folder"/lib/modules/*; do
    PATH=$PATH:/sbin:/usr/sbin depmod -b "$folder" "${kernel##*/}" || return
  done
}

# The same test as in libhostprobe/simnode/cuda_headers.cmake: the first toolkit that has the headers and is new enough.
toolkit_has_headers() {
  local folder version
  for folder in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda; do
    [[ -f $folder/include/cudaTypedefs.h && -f $folder/include/cuda.h ]] || continue
    version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$folder/include/cuda.h")
    [[ ${version:-0} -ge $least_cuda ]] && return
  done
  return 1
}

print_paths() {
  echo "HOSTPROBE_CACHE=$cache"
  echo "CUDA=$cache/cuda-headers"
  echo "TORCH_PYTHON=$torch_folder/bin/python"
  echo "MEGATRON=$megatron_folder"
  echo "TRITON_PYTHON=$triton_folder/bin/python"
  echo "CLIENTS_PYTHON=$clients_folder/bin/python"
  echo "WHEEL_PYTHON=$wheel_folder/bin/python"
  echo "GUESTS_PYTHON=$guests_folder/bin/python"
  echo "TABLES_PYTHON=$tables_folder/bin/python"
  echo "JOB_PYTHON=$job_folder/bin/python"
  echo "MCP_PYTHON=$mcp_folder/bin/python"
  echo "PERFETTO_PYTHON=$perfetto_folder/bin/python"
  echo "AXE=$axe_folder/axe_playwright_python/axe.min.js"
  echo "TORCH_TESTS=$torch_tests_folder"
  echo "NEWER_PYTHON=$newer_python_folder"
  echo "ARM64=$arm64_folder"
  echo "ARM64_GUEST=$guest_folder"
  echo "PROMETHEUS=$prometheus_folder/usr/bin"
  echo "NGINX=$nginx_folder/usr/sbin/nginx"
  echo "SYSTEM_PYTHON=$python"
}

main() {
  local profile=${1:-demo}
  case $profile in
    demo | fast | test | arm64 | guest) ;;
    --paths) print_paths; return ;;
    -h | --help) usage; return ;;
    *) usage >&2; exit 2 ;;
  esac
  mkdir -p "$cache" || die "cannot make the cache $cache; give another with HOSTPROBE_CACHE"
  install_packages "${build_packages[@]}"
  local packages=()
  [[ $profile == demo ]] || packages+=("${test_packages[@]}" "lib$(basename "$(realpath $python)")-testsuite")
  [[ $profile == test ]] && packages+=("${guest_packages[@]}")
  [[ $profile == arm64 || $profile == guest ]] && packages+=("${arm64_packages[@]}")
  [[ $profile == guest ]] && packages+=("${guest_machine_packages[@]}")
  install_packages "${packages[@]}"
  if [[ $profile == test ]] || ! toolkit_has_headers; then
    entry "$cache/cuda-headers" "$cuda_requirements" "the CUDA headers and runtime (30 MB)" make_cuda
  fi
  if [[ $profile == arm64 || $profile == guest ]]; then
    entry "$arm64_folder" "$arm64_root_packages" "Debian's libraries for arm64 (150 MB)" make_arm64_root
  fi
  if [[ $profile == guest ]]; then
    entry "$guest_folder" "$guest_root_packages" "Debian's kernel and programs for arm64 (600 MB)" make_arm64_guest
  fi
  [[ $profile == test ]] || return 0
  entry "$triton_folder" "$triton_requirements" "Triton (500 MB)" make_venv
  entry "$clients_folder" "$clients_requirements" "programs that use the driver API (900 MB)" make_venv
  entry "$torch_folder" "$torch_requirements" "PyTorch (5 GB, some minutes)" make_venv
  entry "$megatron_folder" "$megatron_requirements" "Megatron's core (12 MB)" make_megatron
  entry "$wheel_folder" "$wheel_requirements" "what builds the wheel (20 MB)" make_venv
  entry "$guests_folder" "$guests_requirements" "gevent, greenlet and what tests import (60 MB)" make_venv
  entry "$tables_folder" "$tables_requirements" "what reads tables, and mypy (700 MB)" make_venv
  entry "$job_folder" "$job_requirements" "Spark and ClickHouse, which read step rows, and what the agent needs (1 GB)" make_venv
  entry "$mcp_folder" "$mcp_requirements" "the SDK of the Model Context Protocol (140 MB)" make_venv
  entry "$perfetto_folder" "$perfetto_requirements" "Perfetto's schema (30 MB)" make_venv
  entry "$axe_folder" "$axe_requirements" "axe, which checks pages (1 MB)" make_unpacked_wheel
  # An archive may drop these; then only their own tests fail or are left out.
  entry "$newer_python_folder" "$newer_python_packages" "newer Pythons (200 MB)" make_newer_python || say "going on without newer Pythons"
  entry "$prometheus_folder" prometheus "Prometheus (90 MB)" make_unpacked || say "going on without Prometheus"
  entry "$nginx_folder" nginx "nginx (2 MB)" make_unpacked || say "going on without nginx"
  entry "$torch_tests_folder" "$torch_tests_archive" "PyTorch's tests (27 MB to read)" make_torch_tests ||
    say "going on without PyTorch's tests"
}

main "$@"
