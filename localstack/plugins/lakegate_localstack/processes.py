"""Child processes that never outlive LocalStack. It starts and ends them, and knows nothing of their work."""

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
# Linux signals a child when the *thread* that forked it ends, so one lasting thread forks them all.
_forker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fork")


def start(
    command: Sequence[str | Path],
    *,
    folder: Path,
    env: Mapping[str, str],
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
) -> subprocess.Popen[bytes]:
    """Start a child in a process group of its own."""
    return _forker.submit(
        subprocess.Popen,
        [str(part) for part in command],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        preexec_fn=_die_with_parent,
    ).result()


def end(process: subprocess.Popen[bytes], *, grace: float = 0.0) -> None:
    """Kill the child and its process group. With `grace`, ask first and wait so many seconds."""
    if grace:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _die_with_parent() -> None:
    if hasattr(_libc, "prctl"):  # Linux only; elsewhere a killed LocalStack leaves its children
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
