"""docs/reference/rights.md has the rights of the synthesised stack."""

import pytest

from tests.infra.template import Stack
from tests.support import rights


@pytest.mark.synth
def test_the_page_has_what_each_role_may_do_on_aws(stack: Stack) -> None:
    assert rights.written("aws") == rights.aws(stack), "run: make reference"


def test_the_page_has_what_each_role_may_do_in_nessie() -> None:
    assert rights.written("nessie") == rights.nessie(), "run: make reference"
