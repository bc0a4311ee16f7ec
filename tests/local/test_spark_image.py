from pathlib import Path

import pytest
from lakegate_localstack.settings import PackSettings
from lakegate_localstack.spark import Image, ended_by, failure, spark_defaults

TRACEBACK = """\
rows read: 12
Traceback (most recent call last):
  File "job.py", line 3, in <module>
    load()
pyspark.errors.exceptions.captured.AnalysisException: [PATH_NOT_FOUND] Path does not exist: s3://b/k.
"""
SHUTDOWN = """\
26/11/21 04:25:30 ERROR Executor: Exception in task 0.0 in stage 1.0
26/11/21 04:25:31 INFO ShutdownHookManager: Shutdown hook called
26/11/21 04:25:31 INFO ShutdownHookManager: Deleting directory /tmp/spark-1
"""
LAUNCHER = 'Exception in thread "main" org.apache.spark.SparkUserAppException: User application exited with 1\n'
CREDENTIALS = {"AccessKeyId": "its", "SecretAccessKey": "role", "SessionToken": "s"}


@pytest.fixture
def image(tmp_path: Path) -> Image:
    settings = PackSettings(
        work=tmp_path,
        jobs=tmp_path,
        cache=tmp_path,
        calls=tmp_path / "calls.jsonl",
        function_python=tmp_path / "python",
        spark_home=tmp_path / "spark",
        spark_python=tmp_path / "python",
        java_home=tmp_path / "java",
        image_jars=(tmp_path / "s3a.jar",),
        issuer="http://127.0.0.1:4566/issuer",
    )
    return Image(settings=settings, endpoint="http://127.0.0.1:4566", region="us-east-1")


def fetch(uri: str) -> Path | str:
    return Path("/there") / uri.rsplit("/", 1)[-1] if uri.startswith("s3://") else uri


def test_s3_files_of_a_job_are_replaced_by_their_copies(image: Image, tmp_path: Path) -> None:
    driver = {
        "entryPoint": "s3://b/job.py",
        "entryPointArguments": ["s3://b/job.json"],
        "sparkSubmitParameters": "--jars s3://b/a.jar,s3://b/b.jar --py-files=s3://b/x.zip --conf spark.a='b c'",
    }

    command = image.command(tmp_path, driver, fetch)[1:]

    assert command[:2] == ["--properties-file", str(tmp_path / "spark.properties")]
    command = command[2:]
    assert command[:2] == ["--jars", "local:/there/a.jar,local:/there/b.jar"]
    assert command[2:4] == ["--py-files", "/there/x.zip"]
    assert command[4:] == ["--conf", "spark.a=b c", "/there/job.py", "s3://b/job.json"]


def test_a_jobs_own_properties_win_over_the_images(image: Image, tmp_path: Path) -> None:
    image.write_configuration(tmp_path, {"spark.driver.memory": "3g"}, "-XX:SharedArchiveFile=/a b/c.jsa")

    lines = (tmp_path / "spark.properties").read_text().splitlines()

    assert [line for line in lines if line.startswith("spark.driver.memory ")] == ["spark.driver.memory 3g"]
    assert "spark.hadoop.fs.s3.impl org.apache.hadoop.fs.s3a.S3AFileSystem" in lines
    assert any("'-XX:SharedArchiveFile=/a b/c.jsa'" in line for line in lines)


def test_driver_leaves_nothing_in_the_systems_temporary_folder(image: Image, tmp_path: Path) -> None:
    image.write_configuration(tmp_path, {})

    lines = (tmp_path / "spark.properties").read_text().splitlines()

    [java] = [line for line in lines if line.startswith("spark.driver.defaultJavaOptions ")]
    assert f"-Djava.io.tmpdir={tmp_path / 'tmp'}" in java
    assert f"spark.hadoop.hadoop.tmp.dir {tmp_path / 'tmp'}" in lines
    assert (tmp_path / "tmp").is_dir()


def test_drivers_class_path_has_an_empty_folder_of_configuration(image: Image, tmp_path: Path) -> None:
    image.write_configuration(tmp_path, {})

    folder = image.environment(tmp_path, CREDENTIALS)["SPARK_CONF_DIR"]

    assert list(Path(folder).iterdir()) == []  # else Java makes no archive of classes


def test_driver_is_given_the_local_cloud_and_nothing_of_this_environment(
    image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("AWS_PROFILE", "production")

    given = image.environment(tmp_path, CREDENTIALS)

    assert given["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
    assert [given[f"AWS_{name}"] for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")] == [
        "its",
        "role",
        "s",
    ]
    assert not {"PYTHONPATH", "AWS_PROFILE", "VIRTUAL_ENV"} & set(given)


def test_other_classifications_than_sparks_defaults_are_refused() -> None:
    with pytest.raises(ValueError, match="spark-env"):
        spark_defaults({}, {"applicationConfiguration": [{"classification": "spark-env"}]})


def test_an_applications_properties_are_every_runs_but_for_the_size_of_workers() -> None:
    application = {
        "runtimeConfiguration": [
            {
                "classification": "spark-defaults",
                "properties": {
                    "spark.pyspark.python": "python3.11",
                    "spark.test.word": "application",
                    "spark.driver.memory": "7g",
                    "spark.executor.cores": "2",
                    "spark.executor.instances": "1",
                    "spark.emr-serverless.executor.disk": "100G",
                    "spark.dynamicAllocation.maxExecutors": "3",
                },
            }
        ]
    }
    run = {"applicationConfiguration": [{"classification": "spark-defaults", "properties": {"spark.test.word": "run"}}]}
    assert spark_defaults(application, run) == {"spark.pyspark.python": "python3.11", "spark.test.word": "run"}


def test_details_are_the_jobs_own_last_error_and_not_sparks_shutdown() -> None:
    details = failure(1, TRACEBACK, LAUNCHER + SHUTDOWN)

    assert details.endswith("AnalysisException: [PATH_NOT_FOUND] Path does not exist: s3://b/k.")


@pytest.mark.parametrize(
    ("stderr", "last"),
    [
        ("Caused by: java.lang.OutOfMemoryError: Java heap space\n" + SHUTDOWN, "OutOfMemoryError: Java heap space"),
        (SHUTDOWN, "Exception in task 0.0 in stage 1.0"),
    ],
)
def test_details_of_a_job_without_a_traceback_come_from_sparks_log(stderr: str, last: str) -> None:
    assert failure(1, "", stderr).endswith(last)


def test_details_without_any_error_name_the_exit_code_alone() -> None:
    assert failure(3, "fine\n", "").endswith("ExitCode: 3.")


@pytest.mark.parametrize(
    ("exit_code", "name"), [(-9, "SIGKILL"), (137, "SIGKILL"), (143, "SIGTERM"), (1, None), (128, None)]
)
def test_signal_is_named_whether_it_hit_java_or_python(exit_code: int, name: str | None) -> None:
    assert ended_by(exit_code) == name
