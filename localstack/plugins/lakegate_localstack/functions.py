"""Lambda's execution environments as plain processes: Python functions under AWS's own runtime client (awslambdaric).

It limits memory and the first ten seconds, and no network. It runs the one Python that set-up has made an environment
of, on this machine's processor, and refuses any other runtime and architecture by name.
"""

import json
import os
import platform
import queue
import select
import shutil
import subprocess
import tempfile
import threading
import time
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
from localstack.config import GATEWAY_LISTEN
from localstack.services.lambda_.invocation.execution_environment import ExecutionEnvironment
from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import FunctionVersion, InvocationResult, S3Code
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor
from localstack.utils.patch import patch

from lakegate_localstack import processes
from lakegate_localstack.runtime_api import HOST, Answer, Invocation, RuntimeApi
from lakegate_localstack.settings import PackSettings

POLL_SECONDS = 0.02
INIT_SECONDS = 10.0  # of a processor, because a busy machine makes no function slow
MEGABYTE = 2**20
KEPT = 2**18  # bytes of a log
RUNTIME = "python3.13"
ARCHITECTURE = {"aarch64": "arm64"}.get(platform.machine(), platform.machine())  # of this machine, as Lambda names it
_UNPACKING = threading.Lock()


@patch(ExecutionEnvironment.get_log_group_name)
def _log_group_name(original, self) -> str:  # type: ignore[no-untyped-def] # noqa: ANN001
    """Return the function's own log group, which LocalStack ignores."""
    return (self.function_version.config.logging_config or {}).get("LogGroup") or original(self)  # type: ignore[no-any-return]


class ProcessExecutor(RuntimeExecutor):
    """One execution environment; LocalStack makes as many as there are concurrent invocations."""

    def __init__(self, id: str, function_version: FunctionVersion) -> None:  # noqa: A002 - the name LocalStack passes
        super().__init__(id, function_version)
        self._environment: Mapping[str, str] = {}
        self._process: FunctionProcess | None = None

    def get_address(self) -> str:
        return HOST

    def get_endpoint_from_executor(self) -> str:
        return HOST

    def get_runtime_endpoint(self) -> str:
        return f"http://{HOST}:{GATEWAY_LISTEN[0].port}/_localstack_lambda/{self.id}"

    @classmethod
    def prepare_version(cls, function_version: FunctionVersion) -> None:
        runtime, architectures = function_version.config.runtime, function_version.config.architectures
        if runtime != RUNTIME:
            raise NotImplementedError(f"the local cloud runs functions of {RUNTIME} only, not {runtime}")
        if architectures != [ARCHITECTURE]:
            asked = ", ".join(architectures)
            raise NotImplementedError(f"this machine runs functions of {ARCHITECTURE} only, not {asked}")
        if function_version.config.layers:
            raise NotImplementedError("the local cloud has no Lambda layers")
        _unpack_once(function_version.config.code)

    @classmethod
    def cleanup_version(cls, function_version: FunctionVersion) -> None:
        """Do nothing, because LocalStack removes the code."""

    def start(self, env_vars: dict[str, str]) -> None:
        self._environment = {name: str(value) for name, value in env_vars.items()}
        self._ready_process()

    def stop(self) -> None:
        if self._process:
            self._process.end()

    def get_logs(self) -> str:
        return self._process.log() if self._process else ""

    def invoke(self, payload: dict[str, str]) -> InvocationResult:
        process = self._ready_process()
        timeout = self.function_version.config.timeout
        begin = time.time()
        process.forget_log()
        invocation = Invocation(
            request_id=payload["invoke-id"],
            payload=payload["payload"].encode(),
            deadline_ms=int((begin + timeout) * 1000),
            function_arn=payload["invoked-function-arn"],
            trace_id=payload["trace-id"],
        )
        answer = process.answer_to(invocation, timeout)
        log = self._log(invocation.request_id, process.log(), (time.time() - begin) * 1000, process.most_memory)
        return InvocationResult(invocation.request_id, answer.body, is_error=answer.is_error, logs=log)

    def _ready_process(self) -> "FunctionProcess":
        """Return the running process, or a new one after a timeout or a crash."""
        if self._process is None or not self._process.alive:
            self.stop()
            self._process = FunctionProcess(self.function_version, self._environment)
            if not self._process.wait_until_ready(INIT_SECONDS):
                # Lambda begins once more, and within the function's own time.
                self._process = FunctionProcess(self.function_version, self._environment)
                timeout = self.function_version.config.timeout
                if not self._process.wait_until_ready(timeout):
                    late = error("Sandbox.Timedout", f"Task timed out after {timeout:.2f} seconds")
                    raise StatusErrorException("the function did not start in time", payload=late)
        return self._process

    def _log(self, request_id: str, lines: str, duration: float, used: int) -> str:
        memory = self.function_version.config.memory_size
        ended = "" if not lines or lines.endswith("\n") else "\n"
        return (
            f"START RequestId: {request_id} Version: {self.function_version.id.qualifier}\n{lines}{ended}"
            f"END RequestId: {request_id}\nREPORT RequestId: {request_id}\tDuration: {duration:.2f} ms\t"
            f"Billed Duration: {int(duration) + 1} ms\tMemory Size: {memory} MB\tMax Memory Used: {used} MB\t\n"
        )


def _unpack_once(code: S3Code) -> None:
    """Make the folder of a function's code. The functions of a stack have one zip, of thousands of files, so equal
    zips share a folder.
    """
    own, shared = code.get_unzipped_code_location(), replace(code, id=b64decode(code.code_sha256).hex())
    with _UNPACKING:
        shared.prepare_for_execution()
        own.parent.mkdir(parents=True, exist_ok=True)
        if not own.is_symlink():
            own.symlink_to(shared.get_unzipped_code_location())


class FunctionProcess:
    """A function's process with its Runtime API. It answers one invocation at a time."""

    def __init__(self, version: FunctionVersion, environment: Mapping[str, str]) -> None:
        self._written, self._at_end, self._ended = bytearray(), False, False
        self._memory, self.most_memory = version.config.memory_size, 0
        self._lock = threading.Lock()
        self._api = RuntimeApi.open()
        self._scratch = Path(tempfile.mkdtemp(prefix="function-"))
        code = Path(version.config.code.get_unzipped_code_location())
        self._process = processes.start(
            [PackSettings.from_env().function_python, "-m", "awslambdaric", version.config.handler],
            folder=code,
            env=self._variables(code, environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert self._process.stdout  # noqa: S101 - it was asked for
        self._output = self._process.stdout.fileno()
        self._reader = threading.Thread(target=self._read, name="function-log", daemon=True)
        self._reader.start()

    def _variables(self, code: Path, environment: Mapping[str, str]) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", ""),
            "LANG": "en_US.UTF-8",
            "HOME": os.devnull,  # as on AWS, nothing can be written there
            **environment,
            "TZ": "UTC",
            "TMPDIR": str(self._scratch),
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(code),
            "LAMBDA_TASK_ROOT": str(code),
            "LAMBDA_RUNTIME_DIR": str(Path(__file__).parent),
            "AWS_LAMBDA_RUNTIME_API": self._api.address,
        }

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self, seconds: float) -> bool:
        """Wait until the function is imported. Return False if that takes longer, and the process has been ended. Raise
        StatusErrorException, with Lambda's error document, on failure.
        """
        while not self._api.ready.wait(POLL_SECONDS) and self.alive:
            if self._processor_seconds() > seconds:
                self.end()
                return False
        if self._api.ready.is_set() and self._api.init_error is None:
            return True
        self.end()
        failure = self._api.init_error or error("Runtime.ExitError", f"exit status {self._process.returncode}")
        raise StatusErrorException("the function did not start", payload=failure)

    def answer_to(self, invocation: Invocation, timeout: float) -> Answer:
        self._api.invocations.put(invocation)
        deadline = time.monotonic() + timeout
        while (answer := self._next_answer()) is None or answer.request_id != invocation.request_id:
            if not self.alive and self._api.answers.empty():
                return self._failed(invocation, "Runtime.ExitError", f"exit status {self._process.returncode}")
            if self._look_at_memory() > self._memory:
                return self._failed(invocation, "Runtime.OutOfMemory", "Runtime exited with error: signal: killed")
            if time.monotonic() >= deadline:
                return self._failed(invocation, "Sandbox.Timedout", f"Task timed out after {timeout:.2f} seconds")
        return answer

    def _look_at_memory(self) -> int:
        """Return the megabytes that the process has taken for itself; files that it maps cost nothing."""
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
            used = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) * 1024 // MEGABYTE
            self.most_memory = max(self.most_memory, used)
            return used
        return 0

    def _processor_seconds(self) -> float:
        with suppress(psutil.Error):
            times = psutil.Process(self._process.pid).cpu_times()
            return float(times.user + times.system)
        return 0.0

    def _next_answer(self) -> Answer | None:
        try:
            return self._api.answers.get(timeout=POLL_SECONDS)
        except queue.Empty:
            return None

    def _failed(self, invocation: Invocation, kind: str, reason: str) -> Answer:
        self.end()
        message = f"RequestId: {invocation.request_id} Error: {reason}"
        with self._lock:
            self._written += f"{message}\n".encode()
        return Answer(request_id=invocation.request_id, is_error=True, body=error(kind, message))

    def end(self) -> None:
        """End the process and remove its files."""
        if self._ended:
            return  # its pid may be another process's by now
        self._ended = True
        processes.end(self._process)
        self._api.close()
        self._reader.join(1)
        shutil.rmtree(self._scratch, ignore_errors=True)

    def log(self) -> str:
        """Return the log so far. Lines may still be in the pipe when the answer arrives, so read that first."""
        with self._lock:
            self._take_all()
            return self._written.decode(errors="replace")

    def forget_log(self) -> None:
        with self._lock:
            self._take_all()
            self._written.clear()

    def _read(self) -> None:
        """Read the output until its end, because a full pipe would block the function."""
        while not self._at_end:
            self._is_readable(None)
            with self._lock:
                self._take_all()

    def _take_all(self) -> None:
        while not self._at_end and self._is_readable(0):
            chunk = os.read(self._output, KEPT)
            self._at_end = not chunk
            self._written += chunk
            del self._written[:-KEPT]

    def _is_readable(self, milliseconds: int | None) -> bool:
        waiting = select.poll()
        waiting.register(self._output, select.POLLIN)
        return bool(waiting.poll(milliseconds))


def error(kind: str, message: str) -> bytes:
    """Return Lambda's error document."""
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()
