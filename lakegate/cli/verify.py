"""`verify`: whether the catalog, the service's bucket and the lake fit together. It decides nothing itself."""

from lakegate.cli.doctor import code, print_findings
from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, say_json


def verify(installation: Installation, *, as_json: bool) -> Exit:
    with busy("reading all receipts, reports and metadata, and listing the lake"):
        findings = installation.verify()
    if as_json:
        say_json(findings)
    else:
        print_findings(findings)
    return code(findings)
