"""Strangers' files at the doors that people open by hand: `contract init` and `try`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.audit.model.report import Verdict
from lakegate.contracts import load
from lakegate.errors import LakegateError
from lakegate.inference.contract import Request, infer
from lakegate.trial.trial import try_files

CSV = [
    "a,b\n",
    "1,x\n",
    "NA,\n",
    '"q,""q",2\n',
    "1;2\n",
    "\x1b[2J\n",
    "é,é\r\n",
    "\ufeff",
    "\x00",
    "=1+1,2\n",
    "9" * 400,
    "\n",
]
JSON = [
    '{"a": 1}\n',
    '{"a": "1", "b": [1, {"c": null}]}\n',
    '{"a": 1e400}\n',
    '{"A": 2}\n',
    "[1]\n",
    '{"a": 1, "a": 2}\n',
]
JSON += ['{"\\ud800": "\\u12"}\n', '{"a": ' + "[" * 40 + "]" * 40 + "}\n", "\x00", '{"x": "\x1b]0;t"}\n', "\n"]
ODD = st.binary(max_size=8)


def bodies(pieces: list[str]) -> st.SearchStrategy[bytes]:
    parts = st.one_of(st.sampled_from(pieces).map(str.encode), ODD)
    head = st.sampled_from(pieces[:2]).map(str.encode)
    return st.tuples(head, st.lists(parts, max_size=12)).map(lambda drawn: drawn[0] * 3 + b"".join(drawn[1]))


def check_readable(error: LakegateError, folder: str) -> None:
    message = str(error)
    assert message.replace("\n", "").isprintable()
    assert (folder in message, len(message) < 5000) == (False, True)


@pytest.mark.parametrize(("name", "pieces"), [("orders.csv", CSV), ("orders.jsonl", JSON)])
def test_a_sample_passes_its_own_contract_and_any_other_file_is_judged_by_it(name: str, pieces: list[str]) -> None:
    judged = []

    @settings(max_examples=100)
    @given(bodies(pieces), bodies(pieces))
    def run(sample: bytes, other: bytes) -> None:
        with TemporaryDirectory() as folder:
            path, second = Path(folder) / name, Path(folder) / f"other-{name}"
            path.write_bytes(sample)
            second.write_bytes(other)
            try:
                text = infer([path], Request(table="shop.orders"))
                plan = load(text, "orders.yaml").plan
            except LakegateError as error:
                check_readable(error, folder)
                return
            for file in (path, second):
                try:
                    [entry] = try_files(plan, [file]).report.files
                except LakegateError as error:  # only Spark can say
                    check_readable(error, folder)
                    continue
                assert file is second or entry.verdict is not Verdict.FAIL, (sample, entry.reasons)
                judged.append(entry.verdict)

    run()
    assert {Verdict.FAIL, Verdict.PASS} <= {*judged}
