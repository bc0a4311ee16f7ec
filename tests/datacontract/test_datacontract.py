"""datacontract-cli, in an environment of its own, and our contracts: its lint takes them, and its `test` finds on main
what they promise.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from examples import nyc
from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.contracts import load
from lakegate.express.creating import create
from lakegate.inference.contract import infer
from lakegate.ports import MAIN, Ref
from tests.support.nessie import KEY, SECRET, Lake

pytestmark = pytest.mark.datacontract
ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / ".local/envs/datacontract/bin/datacontract"
EXAMPLES = sorted((ROOT / "contracts").glob("*.yaml"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROWS = 60


def ask(*words: str | Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    everything = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [str(TOOL), *map(str, words)],
        env=everything | {"COLUMNS": "200"} | (environment or {}),
        check=False,
        capture_output=True,
        text=True,
    )


def assert_takes(contract: Path) -> None:
    told = ask("lint", contract)
    assert (told.returncode, told.stderr) == (0, ""), told.stdout


@pytest.mark.parametrize("contract", EXAMPLES, ids=lambda path: path.stem)
def test_its_lint_takes_every_example(contract: Path) -> None:
    assert_takes(contract)


def whole_contracts(page: Path) -> list[str]:
    return [text for text in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL) if "apiVersion:" in text]


def test_its_lint_takes_every_whole_contract_of_the_pages(tmp_path: Path) -> None:
    found = [text for page in PAGES for text in whole_contracts(page)]
    assert len(found) > 1
    for at, text in enumerate(found):
        (tmp_path / f"{at}.yaml").write_text(text)
        assert_takes(tmp_path / f"{at}.yaml")


def test_its_lint_takes_an_inferred_contract(tmp_path: Path) -> None:
    sample, made = tmp_path / "orders.csv", tmp_path / "orders.yaml"
    rows = [f"{at};{at:05};{'open' if at % 2 else 'sent'};2013-01-0{at % 9 + 1}\n" for at in range(ROWS)]
    sample.write_text("".join(["order id;zip;state;day\n", *rows]))
    made.write_text(infer([sample]))
    assert_takes(made)


def test_its_lint_finds_what_is_no_contract(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(EXAMPLES[0].read_text().replace("logicalType: string", "logicalType: strings"))
    assert ask("lint", wrong).returncode == 1


def test_tables_on_main_are_as_it_reads_their_contracts(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    example = nyc.write(tmp_path / "nyc")
    files = {"flights": example.months[0]} | {
        name: getattr(example, name) for name in ("airlines", "airports", "planes")
    }
    for name, file in files.items():
        contract = ROOT / f"contracts/{name}.yaml"
        put_on_main(lake, load(contract.read_bytes(), name).plan, pq.read_table(file))
        told = verdict(lake, contract, tmp_path)
        assert told["result"] in ("passed", "warning"), told["checks"]
        assert "passed" in {check["result"] for check in told["checks"]}
        assert {check["result"] for check in told["checks"]} <= {"passed", "warning", "info"}, told["checks"]


def put_on_main(lake: Lake, plan: Plan, rows: pa.Table) -> None:
    """Put rows in a table as lakegate makes it."""
    table = create(RefCatalog(lake.nessie_uri, lake.warehouse, Ref(MAIN), storage()), plan, plan.columns)
    table.append(rows.append_column(FILE_COLUMN, pa.repeat("0" * 20, rows.num_rows)))


def verdict(lake: Lake, contract: Path, folder: Path) -> dict[str, Any]:
    """Return what its `test` says of the table on main that the contract is for."""
    yaml, copy, told = YAML(), folder / contract.name, folder / f"{contract.stem}.json"
    document = yaml.load(contract.read_text())
    main = {"server": "main", "type": "iceberg", "catalog": "lake", "catalogUrl": f"{lake.nessie_uri}/iceberg/main"}
    document["servers"].append(main | {"warehouse": lake.warehouse})
    yaml.dump(document, copy)
    ask("test", copy, "--server", "main", "--output-format", "json", "--output", told, environment=reach(lake))
    found: dict[str, Any] = json.loads(told.read_text())
    return found


def reach(lake: Lake) -> dict[str, str]:
    return {
        "DATACONTRACT_ICEBERG_S3_ENDPOINT": lake.s3_endpoint,
        "DATACONTRACT_ICEBERG_PROPERTIES": "s3.remote-signing-enabled=false",
        "DATACONTRACT_S3_ACCESS_KEY_ID": KEY,
        "DATACONTRACT_S3_SECRET_ACCESS_KEY": SECRET,
        "DATACONTRACT_S3_REGION": lake.region,
    }
