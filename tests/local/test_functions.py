import base64
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from botocore.exceptions import ClientError, WaiterError
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


MEGABYTE = 2**20
TAKES_MEMORY = """
import os, time
def handler(event, context):
    taken = bytearray(os.urandom(2**20)) * event["megabytes"]
    time.sleep(1)
    return os.getpid()
"""
STARTS_SLOWLY = """
import os, pathlib, time
folder = pathlib.Path(os.environ["FOLDER"])
(folder / str(os.getpid())).touch()
if len(list(folder.iterdir())) != 2:
    while time.process_time() < 11:
        pass
def handler(event, context):
    return len(list(folder.iterdir()))
"""


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


def test_a_payload_that_is_too_large_is_refused_and_one_that_just_fits_is_not(function: Make, aws: Aws) -> None:
    name = function("def handler(event, context):\n    return len(event['x'])\n")

    def call(kind: str, size: int) -> int:
        payload = json.dumps({"x": "x" * (size - len('{"x": ""}'))}).encode()
        assert len(payload) == size
        return int(aws("lambda").invoke(FunctionName=name, InvocationType=kind, Payload=payload)["StatusCode"])

    assert call("RequestResponse", 6 * MEGABYTE) == 200
    assert call("Event", MEGABYTE) == 202
    for kind, most in (("RequestResponse", 6 * MEGABYTE), ("Event", MEGABYTE)):
        with pytest.raises(ClientError, match=f"smaller than {most} bytes") as caught:
            call(kind, most + 1)
        assert caught.value.response["Error"]["Code"] == "RequestTooLargeException"


def test_an_answer_that_is_too_large_is_an_error(function: Make, invoke: Invoke) -> None:
    name = function("def handler(event, context):\n    return 'x' * event['size']\n")
    body, error, _ = invoke(name, {"size": 6 * MEGABYTE})
    assert (len(body), error) == (6 * MEGABYTE, None)
    body, error, _ = invoke(name, {"size": 6 * MEGABYTE + 100})
    assert (body["errorType"], error) == ("Function.ResponseSizeTooLarge", "Unhandled")


def test_a_function_that_takes_more_memory_than_it_has_is_ended_and_the_next_call_finds_another(
    function: Make, invoke: Invoke
) -> None:
    name = function(TAKES_MEMORY, MemorySize=128)
    first, error, log = invoke(name, {"megabytes": 50})
    assert error is None
    assert 50 <= int(log.partition("Max Memory Used: ")[2].partition(" ")[0]) <= 128
    body, error, _ = invoke(name, {"megabytes": 200})
    assert (body["errorType"], error) == ("Runtime.OutOfMemory", "Unhandled")
    again, error, _ = invoke(name, {"megabytes": 1})
    assert error is None
    assert again != first


@pytest.mark.extended
def test_a_function_that_takes_over_ten_seconds_to_start_begins_again_within_its_own_time(
    function: Make, invoke: Invoke, tmp_path: Path
) -> None:
    variables = {"FOLDER": str(tmp_path)}
    patient = function(STARTS_SLOWLY, Timeout=60, Environment={"Variables": variables})
    assert invoke(patient, {})[0] == 2  # processes that began
    hasty = function(STARTS_SLOWLY, Timeout=3, Environment={"Variables": variables})
    body, error, _ = invoke(hasty, {})
    assert (body["errorType"], error) == ("Sandbox.Timedout", "Unhandled")


@pytest.mark.parametrize("setting", ["Terminate", "Allow"])
def test_a_chain_of_calls_ends_after_sixteen_unless_the_function_may_loop(
    function: Make, aws: Aws, until: Make, tmp_path: Path, setting: str
) -> None:
    source = (
        "import os, pathlib\n"
        "def handler(event, context):\n"
        "    (pathlib.Path(os.environ['FOLDER']) / context.aws_request_id).touch()\n"
    )
    one, other = (function(source, Environment={"Variables": {"FOLDER": str(tmp_path)}}) for _ in range(2))
    for name, target in ((one, other), (other, one)):
        arn = aws("lambda").get_function(FunctionName=target)["Configuration"]["FunctionArn"]
        aws("lambda").put_function_recursion_config(FunctionName=name, RecursiveLoop=setting)
        aws("lambda").put_function_event_invoke_config(
            FunctionName=name, DestinationConfig={"OnSuccess": {"Destination": arn}}
        )
    aws("lambda").invoke(FunctionName=one, InvocationType="Event", Payload=b"{}")
    if setting == "Allow":
        until(lambda: len([*tmp_path.iterdir()]) > 40)
        assert not dropped(aws, one)
    else:
        until(lambda: dropped(aws, one))
        assert len([*tmp_path.iterdir()]) == 32  # sixteen of each


def dropped(aws: Aws, name: str) -> Any:
    dimensions = [{"Name": "FunctionName", "Value": name}]
    return aws("cloudwatch").list_metrics(
        Namespace="AWS/Lambda", MetricName="RecursiveInvocationsDropped", Dimensions=dimensions
    )["Metrics"]
