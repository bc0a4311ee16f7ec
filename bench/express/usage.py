"""Processor time and memory of a local cloud's processes, as the system tells them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from lakegate_local.cloud import Cloud
from lakegate_local.processes import Processes

KIB = 1024
FORGET_PEAK = "5"  # what the system takes for this wish


def processor_seconds(cloud: Cloud) -> float:
    """Return the processor time of all servers with their children, those included that have ended."""
    seconds = 0.0
    for process in _all(cloud):
        with suppress(psutil.Error):  # it has ended, and its parent has its time
            its = process.cpu_times()
            seconds += its.user + its.system + its.children_user + its.children_system
    return seconds


def of_function(cloud: Cloud, handler: str) -> list[psutil.Process]:
    """Return the processes of a function, warm ones too."""
    return [process for process in _all(cloud) if handler in _command(process)]


def forget_peaks(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        Path(f"/proc/{process.pid}/clear_refs").write_text(FORGET_PEAK)


def peak_bytes(process: psutil.Process) -> int:
    """Return the most memory that the process had since its peak was forgotten."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peak) * KIB


def _all(cloud: Cloud) -> Iterator[psutil.Process]:
    for record in Processes(folder=cloud.settings.run).records():
        if process := record.process():
            yield from (process, *process.children(recursive=True))


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
