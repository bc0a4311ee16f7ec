"""References into the catalog."""

import pytest

from lakegate.audit.ref import Ref


@pytest.mark.parametrize(
    ("ref", "text"),
    [(Ref("main"), "main"), (Ref("wap-nyc_flights-1", "ab12"), "wap-nyc_flights-1@ab12"), (Ref("", "ab12"), "@ab12")],
)
def test_a_reference_is_spelled_as_people_type_it(ref: Ref, text: str) -> None:
    assert (str(ref), Ref.parse(text)) == (text, ref)
