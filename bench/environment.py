"""The environment that benches start their programs in."""

import os


def clean_environment(**more):
    """This process's own, without what preloads a library or sets a recorder or the simulated node; then `more`."""
    return {name: value for name, value in os.environ.items()
            if name != "LD_PRELOAD" and not name.startswith(("HOSTPROBE_", "SIMNODE_", "LTTNG_"))} | more
