#!/usr/bin/env bash
# demo_check.sh DEMO: runs the demo from another folder and types the command that its last line names.
set -euo pipefail
export TMPDIR
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
demo=$1

fail() { echo "demo_check.sh: $*" >&2; exit 1; }

cd "$TMPDIR"
"$demo" --steps 3 >text
last=$(tail -n 1 text)
[[ $last =~ ^The\ run\ is\ in\ ([^ ;]+)\;\ next:\ (.+)$ ]] || fail "the last line is: $last"
run=${BASH_REMATCH[1]} next=${BASH_REMATCH[2]}
ls "$run"/*.hptrace >/dev/null || fail "$run holds no trace"
cd "$(dirname "$demo")/.."
$next >"$TMPDIR/next" || fail "the next command ends with $?: $next"
[[ -s $TMPDIR/next ]] || fail "the next command prints nothing: $next"
grep -q cuLaunchKernel "$TMPDIR/next" || fail "the report says nothing about launches"
"$demo" >"$TMPDIR/advised"
grep -q "INPUT BOUND" "$TMPDIR/advised" || fail "the report of a slow loader does not say so"
grep -qE "gain [0-9]+ %" "$TMPDIR/advised" || fail "the report of a slow loader has no gain"
grep -qE "dataloader_wait\\)( on rank [0-9]+)? (gone|shrank)" "$TMPDIR/advised" || fail "what is advised did not help"
