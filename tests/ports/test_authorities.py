"""A Nessie whose certificate is of an authority of its owner's: every client in Python that calls it, over real TLS."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError

import pytest

from lakegate import bootstrap
from lakegate.adapters.iceberg import RefCatalog, iceberg_errors
from lakegate.adapters.surroundings import Surroundings
from lakegate.errors import Misconfigured
from lakegate.ports import Ref
from lakegate.publishing.nessie import NessieCatalog
from lakegate.settings import CA_FILE, CODE, Settings
from spark_jobs.tables import nessie
from tests.ports.test_runner import SETTINGS
from tests.support.authority import HEAD, Authority, DeployedAuthority, served

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS_PYTHON = ROOT / ".local/envs/functions/bin/python"
OURS, ANOTHER = Authority.made("ours"), Authority.made("another")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(OURS, tmp_path_factory.mktemp("tls")) as address:
        yield address


def by_requests(settings: Settings) -> str | None:
    return NessieCatalog(settings.nessie_uri, bootstrap.nessie_door(settings)).head("main")


def by_pyiceberg(settings: Settings) -> str | None:
    http = bootstrap.nessie_door(settings)
    with iceberg_errors("listing namespaces"):
        catalog = RefCatalog(settings.nessie_uri, settings.warehouse, Ref("main"), http=http)
        return HEAD if catalog.list_namespaces() == [("shop",)] else None


def by_the_job(settings: Settings) -> str | None:
    return nessie.head(settings.catalog(settings.role), "main")


def by_the_doctor(settings: Settings) -> str | None:
    return HEAD if Surroundings(settings, bootstrap.nessie_door(settings)).stranger() == 200 else None


CLIENTS = [by_requests, by_pyiceberg, by_the_job, by_the_doctor]


@pytest.fixture(autouse=True)
def region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("text", [OURS.pem, ANOTHER.pem + OURS.pem])
def test_a_client_trusts_the_authorities_that_are_chosen(
    uri: str, client: Callable[[Settings], str | None], text: str
) -> None:
    assert client(replace(SETTINGS, nessie_uri=uri, nessie_ca=text, token_audience="")) == HEAD


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_trusts_the_authority_that_a_deployment_makes(
    tmp_path: Path, client: Callable[[Settings], str | None]
) -> None:
    made = DeployedAuthority()
    with served(made, tmp_path) as uri:
        assert client(replace(SETTINGS, nessie_uri=uri, nessie_ca=made.pem, token_audience="")) == HEAD


def test_a_deployment_s_authority_is_believed_of_one_name_alone(tmp_path: Path) -> None:
    made = DeployedAuthority("nessie.example.com")
    with served(made, tmp_path) as uri, pytest.raises(Misconfigured, match=r"(?i)permitted subtree"):
        by_requests(replace(SETTINGS, nessie_uri=uri, nessie_ca=made.pem, token_audience=""))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("text", ["", ANOTHER.pem])
def test_a_client_trusts_no_other_and_trying_again_is_no_use(
    uri: str, client: Callable[[Settings], str | None], text: str
) -> None:
    with pytest.raises((Misconfigured, URLError), match=r"(?i)certificate.verify.failed"):
        client(replace(SETTINGS, nessie_uri=uri, nessie_ca=text, token_audience=""))


def test_the_functions_python_by_itself_takes_what_a_deployment_signs(tmp_path: Path) -> None:
    made = DeployedAuthority()
    script = (
        "import ssl, sys, urllib.request as r; context = ssl.create_default_context(cadata=sys.argv[1]); "
        "assert context.verify_flags & ssl.VERIFY_X509_STRICT; r.urlopen(sys.argv[2], context=context)"
    )
    with served(made, tmp_path) as uri:
        subprocess.run([FUNCTIONS_PYTHON, "-c", script, made.pem, f"{uri}/api/v2/trees/main"], check=True, env={})


def test_the_functions_python_trusts_what_the_jobs_does(uri: str) -> None:
    """Python 3.13 by itself refuses what our authority signs, which has no identifier of its key."""
    ask = "from lakegate.audit.bounded_http import open_url, trust; open_url({1!r}, 30, context={0})"
    for context, succeeds in ((f"trust({OURS.pem!r})", True), (f"trust({ANOTHER.pem!r})", False)):
        script = ask.format(context, f"{uri}/api/v2/trees/main")
        done = subprocess.run(
            [FUNCTIONS_PYTHON, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, env={}
        )
        assert (done.returncode == 0) is succeeds, done.stderr
        assert succeeds or "CERTIFICATE_VERIFY_FAILED" in done.stderr


def test_the_name_in_the_certificate_has_to_be_the_address_s(uri: str) -> None:
    settings = replace(SETTINGS, nessie_ca=OURS.pem, token_audience="")
    with pytest.raises(Misconfigured, match=r"(?i)mismatch"):
        by_requests(replace(settings, nessie_uri=uri.replace("localhost", "127.0.0.1")))


def test_the_usual_authorities_are_trusted_besides() -> None:
    context = bootstrap.nessie_door(replace(SETTINGS, nessie_ca=OURS.pem)).poolmanager.connection_pool_kw["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED
    usual = ssl.create_default_context().get_ca_certs()
    assert len(context.get_ca_certs()) == len(usual) + 1


def test_what_is_no_certificate_is_named() -> None:
    with pytest.raises(Misconfigured, match=r"nessie\.ca has no certificate in PEM"):
        bootstrap.nessie_door(replace(SETTINGS, nessie_ca="-----BEGIN CERTIFICATE-----"))


def test_a_function_reads_authorities_from_the_file_beside_its_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("lakegate.settings.CODE", tmp_path)
    (tmp_path / CA_FILE).write_text(OURS.pem)
    settings = replace(SETTINGS, nessie_ca=CA_FILE)
    assert Settings.from_env(settings.to_env()).nessie_ca == OURS.pem
    assert (CODE / "lakegate/settings.py").is_file()
