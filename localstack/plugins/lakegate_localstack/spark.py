"""A stand-in for EMR's image: the environment of `spark-submit`, and the reason for a driver's failure.

It builds commands and reads logs; it starts nothing.
"""

import os
import re
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakegate_localstack.settings import PackSettings

FETCHED = {"--jars": "local:", "--py-files": "", "--files": "", "--archives": ""}
EXCEPTION = re.compile(
    r"^(?:Caused by: )?(?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*(?:Error|Exception|Interrupt|Exit|Failure)\b.*"
)
LOGGED_ERROR = re.compile(r"^\S+ \S+ (?:ERROR|FATAL) \S+: (?P<text>.*)")
SIZES = re.compile(
    r"spark\.(emr-serverless\.)?(driver|executor)\.(cores|memory|disk|instances)$|spark\.dynamicAllocation\."
)
SPARK_LAUNCHER = re.compile(r"SparkUserAppException|Exception in thread")
DETAILS_LENGTH = 1000
TEMPORARY = "tmp"
PROPERTIES = "spark.properties"
NO_CONFIGURATION = "conf"  # an empty folder: Spark puts it into the class path, where a class archive allows no files
# A driver lives for seconds, so quick compilation is worth more than good code.
JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
# A developer's machine has no native Hadoop library, and Spark needs none.
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


@dataclass(frozen=True, kw_only=True)
class Image:
    """Spark's configuration in the stand-in: `s3://` by S3A on LocalStack, two cores, a JVM that starts fast."""

    settings: PackSettings
    endpoint: str
    region: str

    @staticmethod
    def class_path(settings: PackSettings) -> str:
        """Return the class path, with Spark's jars by name, because a class archive allows no folder before them."""
        return os.pathsep.join(map(str, (*settings.image_jars, *sorted((settings.spark_home / "jars").glob("*.jar")))))

    def defaults(self) -> dict[str, str]:
        s3 = "spark.hadoop.fs.s3a."
        return {
            "spark.master": "local[2,4]",  # a task that fails is tried four times, as on EMR
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": self.settings.driver_memory,
            "spark.driver.extraClassPath": self.class_path(self.settings),
            "spark.ui.enabled": "false",
            "spark.default.parallelism": "2",
            "spark.sql.shuffle.partitions": "2",
            "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
            "spark.hadoop.fs.AbstractFileSystem.s3.impl": "org.apache.hadoop.fs.s3a.S3A",
            f"{s3}endpoint": self.endpoint,
            f"{s3}endpoint.region": self.region,
            f"{s3}path.style.access": "true",
            f"{s3}connection.ssl.enabled": "false",
            f"{s3}directory.marker.retention": "keep",  # the default of EMR's Hadoop, which so deletes nothing
            f"{s3}aws.credentials.provider": "com.amazonaws.auth.EnvironmentVariableCredentialsProvider",
        }

    def write_configuration(self, work: Path, overrides: Mapping[str, str], *jvm_options: str) -> None:
        logging, temporary = work / "log4j2.properties", work / TEMPORARY
        temporary.mkdir()
        (self.settings.cache / NO_CONFIGURATION).mkdir(parents=True, exist_ok=True)
        options = shlex.join(
            [*JVM_OPTIONS, f"-Dlog4j2.configurationFile={logging}", f"-Djava.io.tmpdir={temporary}", *jvm_options]
        )
        places = {"spark.driver.defaultJavaOptions": options, "spark.hadoop.hadoop.tmp.dir": str(temporary)}
        properties = self.defaults() | places | dict(overrides)
        (work / PROPERTIES).write_text("".join(f"{name} {value}\n" for name, value in properties.items()))
        logging.write_text(LOG4J)

    def environment(self, work: Path, credentials: Mapping[str, str]) -> dict[str, str]:
        """Return the driver's environment; `credentials` are those of the run's role, in the words of STS."""
        java = self.settings.java_home
        return {
            "PATH": os.pathsep.join(
                [str(java / "bin"), str(self.settings.spark_python.parent), os.environ.get("PATH", "")]
            ),
            "LANG": "C.UTF-8",
            "HOME": str(work),
            "TMPDIR": str(work),
            "JAVA_HOME": str(java),
            "SPARK_HOME": str(self.settings.spark_home),
            "SPARK_CONF_DIR": str(self.settings.cache / NO_CONFIGURATION),
            "SPARK_LOCAL_DIRS": str(work / "spark"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LAUNCHER_OPTS": " ".join(JVM_OPTIONS),
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": credentials["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": credentials["SecretAccessKey"],
            "AWS_SESSION_TOKEN": credentials["SessionToken"],
        }

    def command(self, work: Path, driver: Mapping[str, Any], fetch: Callable[[str], Path | str]) -> list[str]:
        """Return the `spark-submit` command, with `s3://` files replaced by `fetch`'s local paths."""
        parameters = shlex.split(driver.get("sparkSubmitParameters") or "")
        return [
            str(self.settings.spark_home / "bin/spark-submit"),
            "--properties-file",
            str(work / PROPERTIES),
            *_fetched(parameters, fetch),
            str(fetch(driver["entryPoint"])),
            *driver.get("entryPointArguments", ()),
        ]


def _fetched(parameters: Sequence[str], fetch: Callable[[str], Path | str]) -> Iterator[str]:
    words = iter(parameters)
    for word in words:
        name, equals, value = word.partition("=")
        if name not in FETCHED:
            yield word
            continue
        # Spark reads a `local:` jar in place, and copies any other at every start.
        files = [(uri, fetch(uri)) for uri in (value if equals else next(words)).split(",")]
        yield name
        yield ",".join(str(got) if got == uri else f"{FETCHED[name]}{got}" for uri, got in files)


def spark_defaults(application: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of a run but those that size workers, because the only worker is the driver, with the size
    of the settings. Raise as `properties_of_run` does.
    """
    properties = properties_of_run(application, overrides)
    return {name: value for name, value in properties.items() if not SIZES.match(name)}


def properties_of_run(application: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of the application's `runtimeConfiguration`, overridden by the job run's. Raise ValueError
    for a classification that the stand-in lacks.
    """
    properties: dict[str, str] = {}
    said = (*(application.get("runtimeConfiguration") or ()), *(overrides.get("applicationConfiguration") or ()))
    for configuration in said:
        if configuration["classification"] != "spark-defaults":
            raise ValueError(f"the local cloud knows no classification {configuration['classification']!r}")
        properties |= configuration.get("properties") or {}
    return properties


def failure(exit_code: int, stdout: str, stderr: str) -> str:
    """Return GetJobRun's `stateDetails`: exit code, any signal that ended the driver, and the logs' last error."""
    name = ended_by(exit_code)
    said = f"ExitCode: {exit_code}." + (f" The driver was ended by {name}." if name else "")
    last = last_error(stdout, stderr)
    said += f" Last few exceptions: {last}" if last else ""
    return f"Job execution failed, please check complete logs in configured logging destination. {said}"[
        :DETAILS_LENGTH
    ]


def ended_by(exit_code: int) -> str | None:
    """Return the signal that ended the JVM (a negative exit code) or the Python below it (128 and more)."""
    number = -exit_code if exit_code < 0 else exit_code - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return None


def last_error(stdout: str, stderr: str) -> str | None:
    """Return the job's last error: a Python exception on stdout comes before Spark's own lines on stderr."""
    for text in (stdout, stderr):
        raised = [line for line in text.splitlines() if EXCEPTION.match(line) and not SPARK_LAUNCHER.search(line)]
        if raised:
            return raised[-1].strip()
    logged = [found["text"] for line in stderr.splitlines() if (found := LOGGED_ERROR.match(line))]
    return logged[-1] if logged else None
