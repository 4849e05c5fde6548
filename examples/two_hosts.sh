#!/usr/bin/env bash
# two_hosts.sh: a job on two hosts that are network namespaces of this machine, each with an agent that writes step rows; then the table of
# the job, made of the rows of both.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: ./examples/two_hosts.sh [-o FOLDER] [SCRIPT OPTIONS...]

Needs root, and ip of iproute2. Starts torchrun with two ranks on each of two hosts, which are a network, a name and an IPC namespace
each, with a cable between them. SCRIPT is a training script; without one it is train_ddp.py, and a slow loader on all ranks. Each host's
agent writes its step rows into FOLDER/rows (default: two-hosts), where `hostprobe job` reads them.

environment
  HOSTPROBE   the command (hostprobe)
  PYTHON      a Python with hostprobe's packages for agent and job: prometheus_client, pyarrow, duckdb (python3)
  TORCH       a Python with PyTorch (the same)

examples
  ./examples/two_hosts.sh
  ./examples/two_hosts.sh -o /tmp/two train.py --epochs 1
TEXT
}

case ${1:-} in -h | --help) usage; exit ;; esac
out=two-hosts
if [ "${1:-}" = -o ]; then out=$2; shift 2; fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -eq 0 ]; then set -- "$here/train_ddp.py" --slow-loader-ms 2 --workers 1 --steps 200; fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
export HOSTPROBE=${HOSTPROBE:-hostprobe} PYTHON=${PYTHON:-python3} out
export TORCH=${TORCH:-$PYTHON}
tag=hp$$

if ! said=$("$PYTHON" -c 'import duckdb, prometheus_client, pyarrow, hostprobe.agent, hostprobe.job' 2>&1); then
  echo "two_hosts.sh: $PYTHON cannot do it (${said##*$'\n'}): pip install 'hostprobe[agent,job]', or name another with PYTHON" >&2
  exit 1
fi

refuse() {
  echo "two_hosts.sh: $1" >&2
  exit 3
}
for name in a b; do
  ip netns add "$tag$name" 2>/dev/null || refuse "this machine refuses network namespaces: run it as root, outside of a restricted container"
done
remove() {
  for name in a b; do ip netns delete "$tag$name" 2>/dev/null || true; done
}
trap remove EXIT
ip link add "${tag}a0" netns "${tag}a" type veth peer name "${tag}b0" netns "${tag}b" 2>/dev/null ||
  refuse "this machine refuses a cable between network namespaces (veth)"
number=0
for name in a b; do
  number=$((number + 1))
  ip -n "$tag$name" address add "10.213.0.$number/24" dev "$tag${name}0"
  ip -n "$tag$name" link set "$tag${name}0" up
  ip -n "$tag$name" link set lo up
done

# One host: its name, its agent, its part of the job. The agent takes a last look when it is ended.
export one_host='
set -euo pipefail
hostname "$1"
export GLOO_SOCKET_IFNAME=$2 TP_SOCKET_IFNAME=$2
"$PYTHON" -m hostprobe.agent --listen "unix:$out/$1.sock" --every 1 --data "$out/rows" --rows-cpu 100 & agent=$!
trap "kill $agent 2>/dev/null || true" EXIT
rank=$3
shift 3
"$HOSTPROBE" run -o "$out/run-$(hostname)" --mode trace --job two-hosts -- "$TORCH" -m torch.distributed.run --nnodes=2 --nproc-per-node=2 \
  --node-rank="$rank" --master-addr=10.213.0.1 --master-port=29500 "$@"
kill "$agent"
wait "$agent"
'
start() {  # the letter of the host, and its number
  ip netns exec "$tag$1" unshare --uts --ipc bash -c "$one_host" one_host "host-$1" "$tag${1}0" "$2" "${@:3}" >"$out/host-$1.log" 2>&1
}
start a 0 "$@" & first=$!
start b 1 "$@" & second=$!
status=0
wait "$first" || status=$?
wait "$second" || status=$?
if [ "$status" -ne 0 ]; then
  tail -n 5 "$out/host-a.log" "$out/host-b.log" >&2
  echo "two_hosts.sh: the job failed: $out/host-a.log and host-b.log say why" >&2
  exit 1
fi
"$PYTHON" -m hostprobe.job "$out/rows"
