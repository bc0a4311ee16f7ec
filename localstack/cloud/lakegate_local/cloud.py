"""A local cloud as a whole: up, down, and the file by which the command line finds it.

LocalStack and Nessie forget everything when they stop, and each relies on the other's state. So they start and stop
together.
"""

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lakegate.errors import Misconfigured, Retryable
from lakegate_local.deploy import AFRESH, deploy
from lakegate_local.person import credentials
from lakegate_local.processes import Processes, Record, require_free, tail
from lakegate_local.services import REGION, STAND_IN_TOKEN, Server, client, servers
from lakegate_local.settings import LocalSettings, variable
from lakegate_local.synth import secret_name, synthesise

START_SECONDS = 300
LOCK = "lock"
POLL_SECONDS = 0.1
PRETENCE = "will fail in upcoming"
UNUSED = "resource type AWS::CloudWatch::Dashboard "  # people look at it on AWS, and nothing reads it here

Tell = Callable[[str, str], None]  # takes the name of a part of the cloud, and a phrase for its progress
Started = Sequence[tuple[Server, Record]]


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """One local cloud, in one run folder."""

    settings: LocalSettings

    def up(self, tell: Tell) -> Mapping[str, str]:
        """Start the servers that do not run, deploy the stack, and return the stack's outputs."""
        with self._alone(tell), ThreadPoolExecutor() as pool:
            self._require_own_profile()
            missing = self._make_room(tell)
            tell("stack", "synthesising")
            app = pool.submit(synthesise, self.settings)
            self._start(missing, tell)
            self._keep_slack_token()
            outputs = deploy(self.settings, app.result(), lambda phrase: tell("stack", phrase))
            self.require_real_resources()
            tell("stack", "deployed")
            self._write_profile()
        return outputs

    def start(self, tell: Tell) -> None:
        """Start the servers that do not run, and deploy nothing."""
        with self._alone(tell):
            self._start(self._make_room(tell), tell)

    def restart(self, name: str) -> None:
        """Start an ended server again, with the data that it kept on disk."""
        with self._alone(tell_nobody):
            [server] = [server for server in servers(self.settings) if server.name == name]
            self._await([(server, self._launch(server, tell_nobody))], tell_nobody)

    def down(self, tell: Tell) -> None:
        """End the servers that still run, and remove their data."""
        with self._alone(tell):
            self._stop(tell)
            tell("data", "removing")  # tens of thousands of files, which take a minute on a slow disk
            remove(self.settings.data)
            tell("data", "removed")

    @property
    def _processes(self) -> Processes:
        return Processes(folder=self.settings.run)

    @contextmanager
    def _alone(self, tell: Tell) -> Iterator[None]:
        """Hold the run folder's lock. Raise Misconfigured if it has others' files, which would be removed."""
        run = self.settings.run
        run.mkdir(parents=True, exist_ok=True)
        there = {path.name for path in run.iterdir()}  # listed once: another first command may be making its lock
        if there and LOCK not in there:
            raise Misconfigured(f"{run} holds files of others: name an empty folder with {variable('run')}=…")
        with (run / LOCK).open("w") as held:
            take(held, tell)
            yield

    def _make_room(self, tell: Tell) -> tuple[Server, ...]:
        """Return the servers to start: none if all run, otherwise all, after removing the last cloud's data.

        Raise Misconfigured if only some run, or with other settings, because only `down` may remove their data.
        """
        wanted = servers(self.settings)
        running = [(server, record) for server in wanted if (record := self._processes.running(server.name))]
        if running:
            self._require_all(wanted, running)
            self._await(running, tell)
            return ()
        self._stop(tell)
        require_free({name: port for server in wanted for name, port in server.ports.items()})
        self._wipe()
        return wanted

    def _require_all(self, wanted: Sequence[Server], running: Started) -> None:
        """Raise Misconfigured unless each server runs, with the settings and the version of now."""
        found = {server.name: record.fingerprint for server, record in running}
        for server in wanted:
            if server.name not in found:
                raise Misconfigured(f"{server.name} has stopped. {AFRESH}")
            if found[server.name] != server.fingerprint:
                other = "with other settings (give them again) or by another version"
                raise Misconfigured(f"{server.name} was started {other}. {AFRESH}")

    def _wipe(self) -> None:
        """Make empty folders for data and logs, which other users of this machine cannot read."""
        for folder in (self.settings.data, self.settings.logs):
            remove(folder)
            folder.mkdir(mode=0o700)
        self.settings.temporary.mkdir()

    def _start(self, missing: Sequence[Server], tell: Tell) -> None:
        if not missing:
            return
        try:
            self._await([(server, self._launch(server, tell)) for server in missing], tell)
        except BaseException:  # Ctrl-C, too: a cloud that is half started is of no use
            self._stop(tell)
            raise

    def _launch(self, server: Server, tell: Tell) -> Record:
        tell(server.name, "starting")
        return self._processes.start(
            server.name,
            server.command,
            cwd=self.settings.data,
            env=server.env,
            log=self._log(server),
            fingerprint=server.fingerprint,
        )

    def _await(self, started: Started, tell: Tell) -> None:
        """Wait until all servers answer. Raise Retryable if one has ended or the time is over."""
        deadline, waiting = time.monotonic() + START_SECONDS, started
        while waiting := [it for it in waiting if not self._answers(*it, deadline, tell)]:
            time.sleep(POLL_SECONDS)

    def _answers(self, server: Server, record: Record, deadline: float, tell: Tell) -> bool:
        """Return True if the server answers now. Raise Retryable if it has ended or the time is over."""
        if server.answers():
            tell(server.name, "running")
            return True
        log = self._log(server)
        if not record.process():
            raise Retryable(f"{server.name} has ended; the end of {log}:\n{tail(log)}")
        if time.monotonic() > deadline:
            raise Retryable(f"{server.name} does not answer. {AFRESH}. The end of {log}:\n{tail(log)}")
        return False

    def _log(self, server: Server) -> Path:
        return self.settings.logs / f"{server.name}.log"

    def _stop(self, tell: Tell) -> None:
        records = list(self._processes.records())
        if records:
            with ThreadPoolExecutor() as pool:
                list(pool.map(lambda record: self._stop_server(record, tell), records))
        if self._is_ours():
            self.settings.profile.unlink()

    def _stop_server(self, record: Record, tell: Tell) -> None:
        tell(record.name, "stopping")
        tell(record.name, "stopped" if self._processes.end(record) else "was not running")

    def require_real_resources(self) -> None:
        """Raise Misconfigured if LocalStack only pretended to make a resource, which shows only in its log."""
        lines = (self.settings.logs / "localstack.log").read_text(errors="replace").splitlines()
        if pretended := [line for line in lines if PRETENCE in line and UNUSED not in line]:
            raise Misconfigured("LocalStack only pretends to have made a resource:\n" + "\n".join(pretended))

    def _keep_slack_token(self) -> None:
        """Store the Slack token as a secret, because the stack expects the secret to exist."""
        secrets = client(self.settings, "secretsmanager")
        name = secret_name(self.settings)
        token = self.settings.slack_token or f"{STAND_IN_TOKEN} {self.settings.slack}/api/"
        try:
            secrets.create_secret(Name=name, SecretString=token)
        except secrets.exceptions.ResourceExistsException:
            secrets.put_secret_value(SecretId=name, SecretString=token)

    def _write_profile(self) -> None:
        lines = "".join(f"{name}={value}\n" for name, value in self._profile().items())
        self.settings.profile.write_text(self._signature + lines)

    @property
    def _signature(self) -> str:
        return f"# Written by `lakegate local up` for the local cloud in {self.settings.run}\n"

    def _profile(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.settings.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            **credentials(self.settings),
            "LAKEGATE_INSTALLATION": self.settings.stack,
            "no_proxy": "127.0.0.1",  # in small letters, which go before NO_PROXY
        }

    def _require_own_profile(self) -> None:
        if self.settings.profile.exists() and not self._is_ours():
            raise Misconfigured(
                f"{self.settings.profile} is another installation's: move it away, or name another file with "
                f"{variable('profile')}=…"
            )

    def _is_ours(self) -> bool:
        """Return True if this local cloud wrote the profile. Any other profile is kept."""
        return self.settings.profile.exists() and self.settings.profile.read_text().startswith(self._signature)


def take(lock: IO[str], tell: Tell) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        tell("lock", "waiting for another `lakegate local`")
        fcntl.flock(lock, fcntl.LOCK_EX)
        tell("lock", "was not free")


def remove(folder: Path) -> None:
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as exc:
        raise Misconfigured(f"{folder} cannot be removed: {exc}. Remove it by hand") from exc


def tell_nobody(*_: str) -> None:
    """Ignore progress, for tests that break a server and start it again."""
