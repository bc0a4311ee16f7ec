"""The digest of an image's tag, asked of a stand-in for a registry over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakegate.adapters.images import LARGEST, Images
from lakegate.errors import Misconfigured, Retryable
from tests.support.image_registry import NAME, TAG, Registry, registry_and_client, variants


@pytest.fixture
def at(tmp_path: Path) -> Iterator[tuple[Registry, Images]]:
    with registry_and_client(tmp_path) as both:
        yield both


@pytest.fixture
def registry(at: tuple[Registry, Images]) -> Registry:
    return at[0]


@pytest.fixture
def images(at: tuple[Registry, Images]) -> Images:
    return at[1]


def test_a_tag_is_pinned_to_what_it_is_now_by_a_token_that_strangers_get(registry: Registry, images: Images) -> None:
    assert images.pin(registry.image, "arm64") == registry.image + registry.digest
    manifest = f"/v2/{NAME}/manifests/{TAG}"
    assert registry.asked == [manifest, "/auth", manifest]


@pytest.mark.parametrize("body", [variants("linux/amd64", "windows/arm64"), b'{"mediaType": "of one variant"}'])
def test_an_image_without_the_architecture_is_refused(registry: Registry, images: Images, body: bytes) -> None:
    registry.body = body
    with pytest.raises(Misconfigured, match=r"no variant for linux/arm64.*choose another catalog\.image"):
        images.pin(registry.image, "arm64")


def test_a_tag_that_is_not_there_is_named(registry: Registry, images: Images) -> None:
    with pytest.raises(Misconfigured, match=rf"asking for the digest of localhost.*{NAME}:none: 404"):
        images.pin(registry.image.replace(TAG, "none"), "arm64")


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"manifests": 3}', b'{"manifests": [{"platform": {}}]}'])
def test_an_answer_that_is_no_manifest_is_no_digest(registry: Registry, images: Images, body: bytes) -> None:
    registry.body = body
    with pytest.raises(Misconfigured, match="is no manifest of an image"):
        images.pin(registry.image, "arm64")


def test_a_registry_that_fails_is_asked_again_later(registry: Registry, images: Images) -> None:
    registry.status = 500
    with pytest.raises(Retryable, match="500"):
        images.pin(registry.image, "arm64")
    registry.status, registry.body = 200, b"x" * (LARGEST + 1)
    with pytest.raises(Retryable, match="answers with more than"):
        images.pin(registry.image, "arm64")


def test_a_registry_of_members_alone_is_told(registry: Registry, images: Images) -> None:
    registry.gives_tokens = False
    with pytest.raises(Misconfigured, match="gives no token to strangers"):
        images.pin(registry.image, "arm64")


def test_a_name_without_a_tag_is_asked_of_nobody(registry: Registry, images: Images) -> None:
    with pytest.raises(Misconfigured, match="no <registry>/<name>:<tag>"):
        images.pin("nessie:0.99.0", "arm64")
    assert registry.asked == []
