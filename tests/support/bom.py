"""Write a bill of materials of jars and Node packages, in CycloneDX's form: `bom.py FILE`, in the environment `bom`."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).parents[2]
JARS, NODE = ROOT / "tools/jars.json", ROOT / "infra/package-lock.json"


def jars() -> Iterator[Component]:
    for pin in json.loads(JARS.read_text()):
        qualifiers = {"classifier": pin["classifier"]} if "classifier" in pin else None
        purl = PackageURL("maven", pin["group"], pin["artifact"], pin["version"], qualifiers)
        yield component(purl, HashType(alg=HashAlgorithm.SHA_256, content=pin["sha256"]))


def node() -> Iterator[Component]:
    for path, pin in json.loads(NODE.read_text())["packages"].items():
        if path:  # "" is the list itself
            digest = base64.b64decode(pin["integrity"].removeprefix("sha512-")).hex()
            purl = PackageURL("npm", None, path.removeprefix("node_modules/"), pin["version"])
            yield component(purl, HashType(alg=HashAlgorithm.SHA_512, content=digest))


def component(purl: PackageURL, digest: HashType) -> Component:
    return Component(
        name=purl.name, group=purl.namespace, version=purl.version, bom_ref=str(purl), purl=purl, hashes=[digest]
    )


if __name__ == "__main__":
    JsonV1Dot6(Bom(components=[*jars(), *node()])).output_to_file(sys.argv[1], allow_overwrite=True, indent=2)
