"""A dashboard in a process of its own, at a free port of this machine."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from tests.support.image import ROOT


@contextmanager
def launched() -> Iterator[str]:
    """The address that the dashboard prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.dashboard.server", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        said = running.stdout.readline()
        address = re.search(r"http://\S+", said)
        assert address, said
        yield address[0]
        running.terminate()


def patient() -> requests.Session:
    """A session that waits until the dashboard answers: it says where it is before it listens."""
    session = requests.Session()
    session.mount("http://", requests.adapters.HTTPAdapter(max_retries=requests.adapters.Retry(60, backoff_factor=0.1)))
    return session
