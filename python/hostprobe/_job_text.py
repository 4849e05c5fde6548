"""The document of `hostprobe job` for people: on a terminal, and as a page. Nothing is worked out here again.

Names of jobs and hosts come from other people's programs: what could move a cursor or be markup is written as what it is.
"""

import datetime
import html
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

__all__ = ["page", "printable", "text"]

_Column = Tuple[str, Callable[[Dict[str, Any]], str]]
_MOST_ROWS = 8


def printable(value: object) -> str:
    """Without what steers a terminal: names of files and jobs come from others."""
    return "".join(one if one.isprintable() else "?" for one in str(value))


def _number(value: Optional[float], unit: str = "") -> str:
    if value is None:
        return "-"
    shown = f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return shown + unit


def _moment(realtime_ns: Optional[int]) -> str:
    if realtime_ns is None:
        return "-"
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=realtime_ns // 10**9)
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def _since(found: Dict[str, Any]) -> Dict[int, Dict[str, Any]]:
    return {row["rank"]: row for row in found["since"]}


def _tables(found: Dict[str, Any]) -> List[Tuple[str, List[_Column], List[Dict[str, Any]]]]:
    since = _since(found)
    growing = {row["rank"] for row in found["growth"]}

    def begun(row: Dict[str, Any]) -> str:
        if row["rank"] in growing:
            return "grows"
        change = since.get(row["rank"])
        return "always" if change is None else f"step {change['since_step']}"

    def cost(row: Dict[str, Any]) -> str:
        return _number(row["gpu_hours"])

    def cause(row: Dict[str, Any]) -> str:
        return f"{printable(row['cause'])} +{_number(row['beyond_median_ms'])} ms"

    def host(row: Dict[str, Any]) -> str:
        return printable(str(row["host"]))

    return [
        ("Ranks that the others wait for", [
            ("rank", lambda row: str(row["rank"])), ("host", host), ("late ms/step", lambda row: _number(row["late_ms_per_step"])),
            ("late %", lambda row: _number(row["late_pct"])), ("since", begun), ("GPU-hours", cost), ("beyond the median rank", cause)],
         found["ranks"]),
        ("Hosts that the others wait for", [
            ("host", host), ("ranks", lambda row: str(row["ranks"])), ("late ranks", lambda row: str(row["late_ranks"])),
            ("late ms/step", lambda row: _number(row["late_ms_per_step"])), ("GPU-hours", cost), ("beyond the median host", cause)],
         found["hosts"]),
        ("Where the ranks' own time goes", [
            ("cause", lambda row: printable(row["cause"])), ("% of time", lambda row: _number(row["share_pct"])),
            ("ms/step", lambda row: _number(row["ms_per_step"])), ("GPU-hours", cost)],
         found["causes"]),
        ("Days of every job", [
            ("job", lambda row: printable(str(row["job"]))), ("date", lambda row: str(row["date"] or "-")),
            ("steps", lambda row: str(row["steps"])), ("median ms", lambda row: _number(row["median_ms"])),
            ("waited %", lambda row: _number(row["waited_pct"]))],
         found["history"] if len(found["history"]) > 1 else []),
    ]


def _sentences(found: Dict[str, Any]) -> List[str]:
    whole = found["overview"][0]
    lines = [f"job {printable(found['job']) or '(no id)'}: {whole['ranks']} ranks on {whole['hosts']} hosts, {whole['steps']} steps "
             f"({whole['first_step']} to {whole['last_step']}), median step {_number(whole['median_ms'], ' ms')}",
             f"{_moment(whole['begin_ns'])} to {_moment(whole['end_ns'])}, {_number(whole['gpu_hours'])} GPU-hours"]
    if whole["waited_pct"] is not None:
        lines[-1] += f", {_number(whole['waited_pct'])} % of them spent waiting for late ranks"
    for stalls in found["stalls"]:
        again = f", every {stalls['every_steps']} steps" if stalls["every_steps"] else ""
        who = f"; most wait for rank {found['stalled_ranks'][0]['rank']}" if found["stalled_ranks"] else ""
        lines.append(f"{stalls['stalls']} steps last more than 1.5 times the median, by {_number(stalls['beyond_ms'], ' ms')} each{again}{who}")
    gone = [row for row in found["missing"] if row["last_step"] is None]
    if gone:
        names = [str(row["first_rank"]) if row["first_rank"] == row["last_rank"] else f"{row['first_rank']} to {row['last_rank']}"
                 for row in gone[:5]]
        lines.append(f"no rows of ranks {', '.join(names)}" + (", …" if len(gone) > 5 else ""))
    ended = [row for row in found["missing"] if row["last_step"] is not None]
    if ended:
        names = [f"{row['first_rank']} (step {row['last_step']})" for row in ended[:5]]
        lines.append(f"rows end early on ranks {', '.join(names)}" + (", …" if len(ended) > 5 else ""))
    return lines


def _grid(columns: Sequence[_Column], rows: Sequence[Dict[str, Any]]) -> List[str]:
    cells = [[title for title, _ in columns], *([cell(row) for _, cell in columns] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]


def text(found: Dict[str, Any]) -> str:
    """What stands on a terminal."""
    lines = _sentences(found)
    for title, columns, rows in _tables(found):
        if rows:
            more = f" (the worst {_MOST_ROWS} of {len(rows)} shown)" if len(rows) > _MOST_ROWS else ""
            lines += ["", title + more, *_grid(columns, rows[:_MOST_ROWS])]
    return "\n".join(lines)


_STYLE = ("body{font:15px sans-serif;margin:2em;max-width:72em;color:#1b1b1b;background:#fff}table{border-collapse:collapse;margin:0 0 2em}"
          "td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ccc}svg{max-width:100%}")


def _map(found: Dict[str, Any]) -> str:
    """Ranks × steps as squares: the darker, the longer the others wait for a rank there."""
    cells = [row for row in found["grid"] if row["late_pct"] is not None]
    if not cells:
        return ""
    side, most = 8, max(1.0, max(row["late_pct"] for row in cells))
    width = side * (1 + max(row["grid_column"] for row in cells))
    height = side * (1 + max(row["grid_row"] for row in cells))
    squares = "".join(
        f'<rect x="{side * row["grid_column"]}" y="{side * row["grid_row"]}" width="{side}" height="{side}" fill="#b30000" '
        f'fill-opacity="{row["late_pct"] / most:.2f}"><title>ranks {row["first_rank"]}–{row["last_rank"]}, steps {row["first_step"]}–'
        f'{row["last_step"]}: {_number(row["late_pct"])} %</title></rect>' for row in cells if row["late_pct"] >= 0.005 * most)
    return (f'<h2>Ranks × steps</h2><p>The darker, the larger the part of its step for which the others wait for the latest rank there '
            f'(darkest: {_number(most)} %). Ranks from the top, steps from the left.</p><svg role="img" aria-label="Ranks by steps" '
            f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"><rect width="{width}" height="{height}" fill="#f2f2f2"/>'
            f'{squares}</svg>')


def page(found: Dict[str, Any]) -> str:
    """A page that needs nothing else."""
    parts = [f"<p>{html.escape(line)}</p>" for line in _sentences(found)]
    parts.append(_map(found))
    for title, columns, rows in _tables(found):
        if not rows:
            continue
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name, _ in columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell(row))}</td>" for _, cell in columns) + "</tr>" for row in rows)
        parts.append(f"<h2>{html.escape(title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    title = html.escape(printable(found["job"]))
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>hostprobe job {title}</title>'
            f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
            f"<style>{_STYLE}</style></head><body><h1>Job {title}</h1>{''.join(parts)}</body></html>\n")
