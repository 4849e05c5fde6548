"""What a report finds, as a cell of a table."""


def first_finding(report):
    finding = next(iter(report.get("findings") or []), None)
    if finding is None:
        return "none"
    gain = finding["gain_pct"]
    return f"{finding['cause']} {finding['share_pct']:.1f} %" + (f", gain {gain:.1f} %" if gain is not None else "")
