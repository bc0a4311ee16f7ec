"""Dropping a canary: its contract is pushed, if it is not there, and its file lands like any other."""

import tempfile
from pathlib import Path

import structlog

from lakegate.landing.canary import CONTRACT, KEY, TABLE, heartbeat
from lakegate.workflow.registry import contract_name, push
from lakegate.workflow.service import Service

log = structlog.get_logger()


def drop_canary(service: Service) -> None:
    """Land a canary. Events and sweeps bring it to main; that it arrives is told by a signal."""
    if service.store.read(contract_name(TABLE)) != CONTRACT.encode():
        push(service.store, [("the canary's contract", CONTRACT.encode())])
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "canary")
        source.write_bytes(heartbeat(service.clock.now()))
        file = service.landing.upload(source, KEY)
    log.info("canary_landed", key=KEY, version=file.version_id)
