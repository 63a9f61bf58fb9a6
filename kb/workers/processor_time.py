"""What processes have cost: a measure of an engine's work that does not grow while the machine is busy with others."""

from __future__ import annotations

from contextlib import suppress


def tree_cpu_s(pid: int) -> float:
    """Processor seconds of a process and of all it has started; 0 for one that is gone."""
    import psutil

    total_s = 0.0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                times = each.cpu_times()
                # Of children that have ended; on macOS always 0: there a tree may take a little more.
                ended_s = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
                total_s += times.user + times.system + ended_s
    return total_s
