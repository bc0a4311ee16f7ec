import base64
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from botocore.exceptions import WaiterError
from lakegate_local.settings import LocalSettings

from infra.config import MACHINE
from tests.local.kinds import Aws, Invoke, Make

pytestmark = pytest.mark.local
(ELSEWHERE,) = {"arm64", "x86_64"} - {MACHINE}

TELLS_ITS_PROCESS = """
import os
calls = 0
def handler(event, context):
    global calls
    calls += 1
    print("event", event["n"])
    return {"n": event["n"], "calls": calls, "pid": os.getpid(), "request": context.aws_request_id}
"""

SLEEPS = """    calls += 1
    import time
    time.sleep(event.get("sleep", 0))"""

# It answers when all of them are there.
MEETS = """    calls += 1
    import pathlib, time
    folder = pathlib.Path(event["folder"])
    (folder / str(event["n"])).touch()
    while len(list(folder.iterdir())) < event["others"]:
        time.sleep(0.02)"""


@pytest.fixture
def invoke(aws: Aws) -> Any:
    def call(name: str, event: dict[str, Any]) -> Any:
        answer = aws("lambda").invoke(FunctionName=name, Payload=json.dumps(event), LogType="Tail")
        body = json.loads(answer["Payload"].read())
        return body, answer.get("FunctionError"), base64.b64decode(answer.get("LogResult", "")).decode()

    return call


def test_second_invocation_runs_in_the_same_warm_process(function: Make, invoke: Invoke) -> None:
    name = function(TELLS_ITS_PROCESS)

    first, _, log = invoke(name, {"n": 1})
    second, _, _ = invoke(name, {"n": 2})

    assert (first["calls"], second["calls"]) == (1, 2)
    assert first["pid"] == second["pid"]
    assert f"START RequestId: {first['request']}" in log
    assert "event 1\n" in log


def test_exception_is_reported_and_the_process_goes_on(function: Make, invoke: Invoke) -> None:
    name = function("def handler(event, context):\n    raise ValueError(event['n'])\n")

    body, error, log = invoke(name, {"n": "wrong"})

    assert error == "Unhandled"
    assert (body["errorType"], body["errorMessage"]) == ("ValueError", "wrong")
    assert "ValueError" in log


def test_module_that_does_not_import_is_reported(function: Make, invoke: Invoke) -> None:
    body, error, _ = invoke(function("import no_such_module\n"), {})

    assert error == "Unhandled"
    assert body["errorType"] == "Runtime.ImportModuleError"


def test_function_that_takes_too_long_is_ended_and_the_next_one_is_fresh(function: Make, invoke: Invoke) -> None:
    name = function(TELLS_ITS_PROCESS.replace("    calls += 1", SLEEPS), Timeout=10)

    late, error, log = invoke(name, {"n": 1, "sleep": 600})
    fresh, _, _ = invoke(name, {"n": 2})

    assert error == "Unhandled"
    assert late["errorType"] == "Sandbox.Timedout"
    assert "Task timed out after 10.00 seconds" in late["errorMessage"]
    assert "Task timed out" in log
    assert fresh["calls"] == 1


def test_crashed_process_is_reported_and_the_next_one_is_fresh(function: Make, invoke: Invoke) -> None:
    name = function("import os\ndef handler(event, context):\n    os._exit(7) if event else None\n    return 'fresh'\n")

    body, error, _ = invoke(name, {"crash": True})
    fresh, _, _ = invoke(name, {})

    assert error == "Unhandled"
    assert (body["errorType"], "exit status 7" in body["errorMessage"]) == ("Runtime.ExitError", True)
    assert fresh == "fresh"


def test_process_that_died_while_it_waited_is_cleared_away(function: Make, invoke: Invoke, until: Make) -> None:
    source = (
        "import os\ndef handler(event, context):\n    return {'pid': os.getpid(), 'folder': os.environ['TMPDIR']}\n"
    )
    name = function(source)
    died, _, _ = invoke(name, {})

    os.kill(died["pid"], signal.SIGKILL)
    until(lambda: has_ended(died["pid"]))
    fresh, _, _ = invoke(name, {})

    assert not Path(died["folder"]).exists()
    assert Path(fresh["folder"]).exists()


def has_ended(pid: int) -> bool:
    """One whose end nobody has asked for yet is a zombie."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_concurrent_invocations_run_in_processes_of_their_own(function: Make, invoke: Invoke, tmp_path: Path) -> None:
    name = function(TELLS_ITS_PROCESS.replace("    calls += 1", MEETS), Timeout=300)

    with ThreadPoolExecutor(3) as pool:
        events = [{"n": n, "folder": str(tmp_path), "others": 3} for n in range(3)]
        answers = list(pool.map(lambda event: invoke(name, event)[0], events))

    assert len({answer["pid"] for answer in answers}) == 3
    assert sorted(answer["n"] for answer in answers) == [0, 1, 2]


def test_function_sees_its_zip_its_variables_and_the_local_cloud_but_not_this_environment(
    function: Make, invoke: Invoke, cloud: LocalSettings
) -> None:
    source = (
        "import os, sys, importlib.util\n"
        "def handler(event, context):\n"
        "    return {'env': dict(os.environ), 'lakegate': importlib.util.find_spec('lakegate') is not None,"
        " 'here': os.path.exists('app.py')}\n"
    )

    body, _, _ = invoke(function(source, Environment={"Variables": {"LAKEGATE_X": "1"}}), {})

    assert body["here"]
    assert not body["lakegate"]
    assert body["env"]["LAKEGATE_X"] == "1"
    assert body["env"]["AWS_ENDPOINT_URL"] == cloud.endpoint
    assert not [name for name in body["env"] if name.startswith(("LAKEGATE_LOCALSTACK", "GATEWAY_LISTEN"))]


@pytest.mark.parametrize("asked", [{"Runtime": "python3.11"}, {"Architectures": [ELSEWHERE]}])
def test_a_function_of_another_python_or_processor_is_refused_by_name(function: Make, asked: dict[str, Any]) -> None:
    with pytest.raises(WaiterError) as error:
        function("def handler(event, context): pass\n", **asked)

    (value,) = asked.values()
    described: dict[str, Any] = {**error.value.last_response}
    assert f"not {''.join(value)}" in described["Configuration"]["StateReason"]


def test_log_goes_to_the_functions_own_log_group(aws: Aws, function: Make, invoke: Invoke, until: Make) -> None:
    aws("logs").create_log_group(logGroupName="/test/own")
    name = function(TELLS_ITS_PROCESS, LoggingConfig={"LogGroup": "/test/own"})

    invoke(name, {"n": "logged"})

    until(lambda: "event logged\n" in [entry["message"] for entry in logged(aws, "/test/own")])


def logged(aws: Aws, group: str) -> Any:
    """LocalStack pays no attention to a filter pattern."""
    return aws("logs").filter_log_events(logGroupName=group)["events"]
