"""Step rows added up for Prometheus, by job, host and rank: seconds lost by cause, waited and late, lengths of steps, and who was last.

Totals grow as long as rows come; what gains none for a while is left out, so that jobs which ended do not stay for good. Labels have
been bounded by whoever gives the rows.
"""

import bisect
import threading
from typing import Any, Callable, Dict, Iterator, List, Tuple

__all__ = ["RowTotals"]

_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0)
_MOST_RANKS = 4096
_KEPT_S = 900.0
_LAST_SHARE = 0.01  # of the step, from which on the wait for the last rank counts
_LABELS = ["job", "host", "rank"]

_Key = Tuple[str, str, str]


def _seconds(ms: Any) -> float:
    """Never negative: a counter of Prometheus only grows."""
    return max(0.0, 1e-3 * ms) if ms is not None else 0.0


class _Totals:
    def __init__(self) -> None:
        self.lost_s: Dict[str, float] = {}
        self.waited_s = 0.0
        self.late_s = 0.0
        self.last_steps = 0
        self.steps_s = 0.0
        self.counts = [0] * (len(_BOUNDS_S) + 1)
        self.gained_s = 0.0

    def add(self, row: Dict[str, Any], causes: List[str]) -> None:
        seconds = _seconds(row["ms"])
        self.steps_s += seconds
        self.counts[bisect.bisect_left(_BOUNDS_S, seconds)] += 1
        if row["waited_ms"] is None:
            return  # where the time went is not known
        self.waited_s += _seconds(row["waited_ms"])
        self.late_s += _seconds(row["late_ms"])
        for cause in causes:
            self.lost_s[cause] = self.lost_s.get(cause, 0.0) + _seconds(row[f"lost_{cause}_ms"])

    def buckets(self) -> List[Tuple[str, float]]:
        below, all_buckets = 0, []
        for bound, count in zip([*map(str, _BOUNDS_S), "+Inf"], self.counts):
            below += count
            all_buckets.append((bound, float(below)))
        return all_buckets


class RowTotals:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._totals: Dict[_Key, _Totals] = {}

    def add(self, rows: List[Dict[str, Any]], job: str, host: str) -> None:
        """Rows of one job on one host, as dictionaries."""
        causes = [name[5:-3] for name in (rows[0] if rows else ()) if name.startswith("lost_") and name.endswith("_ms")]
        last: Dict[int, Dict[str, Any]] = {}
        with self._lock:
            for row in rows:
                self._of(job, host, row["rank"]).add(row, causes)
                if (row["late_ms"] or 0.0) > max(_LAST_SHARE * row["ms"], last.get(row["step"], {}).get("late_ms", 0.0)):
                    last[row["step"]] = row
            for row in last.values():
                self._of(job, host, row["rank"]).last_steps += 1
            self._leave_out()

    def _of(self, job: str, host: str, rank: Any) -> _Totals:
        totals = self._totals.setdefault((job, host, "" if rank is None else str(rank)), _Totals())
        totals.gained_s = self._now()
        return totals

    def _leave_out(self) -> None:
        newest = sorted(self._totals.items(), key=lambda item: -item[1].gained_s)[:_MOST_RANKS]
        self._totals = {key: totals for key, totals in newest if self._now() - totals.gained_s < _KEPT_S}

    def families(self, core: Any) -> Iterator[Any]:
        """As `prometheus_client.core` has them."""
        with self._lock:
            self._leave_out()
            lost = core.CounterMetricFamily("hostprobe_lost_seconds", "Time of steps that went into a cause on this rank.", labels=[*_LABELS, "cause"])
            waited = core.CounterMetricFamily("hostprobe_waited_seconds", "Time of steps in which the rank waited for others.", labels=_LABELS)
            late = core.CounterMetricFamily("hostprobe_late_seconds", "Time that the other ranks waited for this one, their mean.", labels=_LABELS)
            last = core.CounterMetricFamily("hostprobe_last_steps", "Steps in which the others waited longest for this rank.", labels=_LABELS)
            steps = core.HistogramMetricFamily("hostprobe_step_seconds", "Lengths of steps that have a row.", labels=_LABELS)
            for key, totals in self._totals.items():
                for cause, seconds in totals.lost_s.items():
                    lost.add_metric([*key, cause], seconds)
                waited.add_metric(key, totals.waited_s)
                late.add_metric(key, totals.late_s)
                last.add_metric(key, totals.last_steps)
                steps.add_metric(key, totals.buckets(), totals.steps_s)
        yield from (lost, waited, late, last, steps)
