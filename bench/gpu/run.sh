#!/usr/bin/env bash
# run.sh: all checks that need a GPU, one behind the other, as the tables of RESULTS.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'TEXT'
usage: bench/gpu/run.sh [--build FOLDER] [--python PYTHON] [--cuda FOLDER] [--simgpu]

Launches and synchronisations against CUPTI, the replay of the GPU against PyTorch's profiler, the diagnosis of programs with a fault,
what the driver's events cost, hostprobe's own cost, and each fix. About fifteen minutes. What the machine lacks is said and left out. Progress goes to standard error.

  --build FOLDER    of hostprobe, built (default build)
  --python PYTHON   one that has PyTorch for the GPU (default python3)
  --cuda FOLDER     the toolkit, for nvcc and CUPTI (default /usr/local/cuda)
  --simgpu          without a GPU: what can run on the simulated driver, which is what its events cost

examples
  bench/gpu/run.sh --python ~/venv/bin/python >> bench/gpu/RESULTS.md
  bench/gpu/run.sh --simgpu
TEXT
}

build=build python=python3 cuda=/usr/local/cuda simgpu=
while (($#)); do
  case $1 in
    --build) build=$2; shift ;;
    --python) python=$2; shift ;;
    --cuda) cuda=$2; shift ;;
    --simgpu) simgpu=yes ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done

say() { echo "gpu: $*" >&2; }
failed=0

# section TITLE COMMAND…
section() {
  say "$1"
  printf '\n### %s\n\n' "$1"
  "${@:2}" || { failed=1; printf '\nFAILED: %s\n' "${*:2}"; }
}

[[ -x $build/bin/hostprobe ]] || { say "no $build/bin/hostprobe: build hostprobe first, or name its folder with --build"; exit 2; }
if [[ -n $simgpu ]]; then
  section "The simulated driver's events" env LD_LIBRARY_PATH="$build/lib/hostprobe/simnode" \
    SIMNODE_KERNEL_US='spins=1000;nothing=2' "$build/bench/driver_costs"
  exit "$failed"
fi

machine=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sort | uniq -c) ||
  { say "nvidia-smi found no GPU; --simgpu runs what needs none"; exit 2; }
printf '\n## %s\n\n%s, %s CPUs, hostprobe %s\n' "$(date +%F)" "$(xargs <<<"$machine")" "$(nproc)" \
  "$("$build/bin/hostprobe" --version 2>/dev/null | head -1)"
section "The driver's events" "$build/bench/driver_costs"
if [[ -x $cuda/bin/nvcc ]]; then
  section "Launches and synchronisations against CUPTI" "$python" bench/gpu/check.py --build "$build" --cuda "$cuda" counts
else
  say "left out: counts against CUPTI, because $cuda has no nvcc (--cuda)"
fi
if "$python" -c 'import torch; raise SystemExit(not torch.cuda.is_available())' 2>/dev/null; then
  section "The replay against PyTorch's profiler" "$python" bench/gpu/replay.py --build "$build" eager graph triton nccl busy item
  section "Programs with a fault, and their twins" "$python" bench/gpu/diagnosis.py --build "$build"
  section "Own cost" "$python" bench/gpu/check.py --build "$build" --cuda "$cuda" cost
  section "Fixes" "$python" bench/gpu/fixes.py --build "$build"
else
  say "left out: all with PyTorch, because $python has none that sees a GPU (--python)"
fi
exit "$failed"
