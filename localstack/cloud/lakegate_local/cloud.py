"""The local cloud as a whole: up, down, and the file by which the command line finds it.

LocalStack and Nessie forget everything when they stop, and each relies on what the other holds: they start and stop
together.
"""

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from lakegate.errors import Misconfigured, Retryable
from lakegate_local.deploy import deploy
from lakegate_local.processes import Processes, Record, require_free, tail
from lakegate_local.services import CREDENTIALS, REGION, STAND_IN_TOKEN, Server, client, servers
from lakegate_local.settings import LocalSettings
from lakegate_local.synth import secret_name, synthesise

START_SECONDS = 90
POLL_SECONDS = 0.1
PRETENCE = "will fail in upcoming"
LOOPBACK = "http://127.0.0.1:"

Tell = Callable[[str, str], None]  # what a part of the cloud is doing: its name, a phrase


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """One local cloud, in one run folder."""

    settings: LocalSettings

    def up(self, tell: Tell) -> Mapping[str, str]:
        """Start what is not running, deploy the stack, and return its outputs."""
        with self._alone(), ThreadPoolExecutor() as pool:
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
        """Start what is not running, and deploy nothing."""
        with self._alone():
            self._start(self._make_room(tell), tell)

    def restart(self, name: str) -> None:
        """Start a server again whose process ended, with what it kept."""
        with self._alone():
            [server] = [server for server in servers(self.settings) if server.name == name]
            self._start_server(server, lambda *_: None)

    def down(self, tell: Tell) -> None:
        """End everything that was started and is still running."""
        with self._alone():
            self._stop(tell)

    @property
    def _processes(self) -> Processes:
        return Processes(folder=self.settings.run)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One `up` or `down` at a time in this run folder."""
        self.settings.run.mkdir(parents=True, exist_ok=True)
        with (self.settings.run / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _make_room(self, tell: Tell) -> tuple[Server, ...]:
        """The servers to start: none if all are up, else all, with nothing left of the cloud before."""
        wanted = servers(self.settings)
        if all(self._is_up(server) for server in wanted):
            for server in wanted:
                tell(server.name, "running")
            return ()
        self._stop(tell)
        for server in wanted:
            for variable, port in server.ports.items():
                require_free(port, variable)
        shutil.rmtree(self.settings.data, ignore_errors=True)
        (self.settings.data / "tmp").mkdir(parents=True)
        return wanted

    def _start(self, missing: tuple[Server, ...], tell: Tell) -> None:
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda server: self._start_server(server, tell), missing))

    def _is_up(self, server: Server) -> bool:
        record = self._processes.running(server.name)
        return record is not None and record.fingerprint == server.fingerprint and server.answers()

    def _start_server(self, server: Server, tell: Tell) -> None:
        begin = time.monotonic()
        log = self.settings.logs / f"{server.name}.log"
        record = self._processes.start(
            server.name, server.command, cwd=self.settings.data, env=server.env, log=log, fingerprint=server.fingerprint
        )
        tell(server.name, "starting")
        while not server.answers():
            if not record.process():
                raise Retryable(f"{server.name} ended while it started; the end of {log}:\n{tail(log)}")
            if time.monotonic() - begin > START_SECONDS:
                raise Retryable(f"{server.name} did not answer in {START_SECONDS} s; the end of {log}:\n{tail(log)}")
            time.sleep(POLL_SECONDS)
        tell(server.name, f"running, after {time.monotonic() - begin:.1f} s")

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
        """Misconfigured if the stack has a resource that LocalStack calls made and has not: its log alone tells."""
        log = self.settings.logs / "localstack.log"
        if pretended := [line for line in log.read_text(errors="replace").splitlines() if PRETENCE in line]:
            raise Misconfigured("LocalStack only pretends to have made a resource:\n" + "\n".join(pretended))

    def _keep_slack_token(self) -> None:
        """The secret is the one thing that the stack expects to be there already."""
        secrets = client(self.settings, "secretsmanager")
        name, token = secret_name(self.settings), self.settings.slack_token or STAND_IN_TOKEN
        try:
            secrets.create_secret(Name=name, SecretString=token)
        except secrets.exceptions.ResourceExistsException:
            secrets.put_secret_value(SecretId=name, SecretString=token)

    def _write_profile(self) -> None:
        """The command line reads it as it would read any installation's: it names no local cloud."""
        self.settings.profile.write_text("".join(f"{name}={value}\n" for name, value in self._profile().items()))

    def _profile(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.settings.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            **{name.upper(): value for name, value in CREDENTIALS.items()},
            "LAKEGATE_STACK": self.settings.stack,
        }

    def _is_ours(self) -> bool:
        """A profile that somebody wrote for another installation stays."""
        return self.settings.profile.exists() and f"AWS_ENDPOINT_URL={LOOPBACK}" in self.settings.profile.read_text()
