"""Faults of an installation's choices about its data: keys, and a landing bucket that it brings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from lakegate.landing import canary

if TYPE_CHECKING:
    from infra.config import Config

_KEY = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"([A-Za-z0-9+.@_=-]+/)+")  # without wildcards and variables of IAM, and without commas
LONGEST_PREFIXES = 512  # characters; all of a function's environment has 4,096 bytes


def data_faults(config: Config, region: str) -> list[str]:
    """Return what is wrong with these choices together."""
    return [text for is_wrong, text in (*_of_keys(config, region), *_of_the_landing_bucket(config)) if is_wrong]


def _of_keys(config: Config, region: str) -> Iterator[tuple[bool, str]]:
    given = [key for key in (config.kms_key, *config.upload_keys) if key not in ("", "create")]
    yield (
        config.kms_key not in ("", "create") and not _KEY.fullmatch(config.kms_key),
        "-c kms_key is create, or the ARN of a key, arn:aws:kms:…:key/…, because an alias may become another key",
    )
    yield (
        not all(_KEY.fullmatch(key) for key in config.upload_keys),
        "-c upload_keys are ARNs of keys, arn:aws:kms:…:key/…",
    )
    yield (
        bool(region) and any(f":kms:{region}:" not in key for key in given if _KEY.fullmatch(key)),
        f"-c kms_key and -c upload_keys are keys in {region}, the stack's region, because S3 takes no other",
    )


def _of_the_landing_bucket(config: Config) -> Iterator[tuple[bool, str]]:
    bucket, prefixes = config.landing_bucket, config.landing_prefixes
    yield bool(bucket) and not _BUCKET.fullmatch(bucket), "-c landing_bucket is a bucket's name"
    yield (
        bool(bucket) and bool(config.uploaders or config.landing_days),
        "-c uploaders and -c landing_days are for a bucket that the stack makes: set them at -c landing_bucket itself",
    )
    yield (
        bool(prefixes) and not bucket,
        "-c landing_prefixes is for a bucket that is there: give -c landing_bucket, too",
    )
    yield (
        not all(_PREFIX.fullmatch(prefix) for prefix in prefixes) or len(",".join(prefixes)) > LONGEST_PREFIXES,
        f"-c landing_prefixes are folders that end with /, up to {LONGEST_PREFIXES} characters in all",
    )
    yield (
        any(inner.startswith(outer) for inner, outer in permutations(prefixes, 2)),
        "-c landing_prefixes names no folder twice, and none within another",
    )
    yield (
        bool(prefixes and config.canary_hours) and not any(canary.KEY.startswith(prefix) for prefix in prefixes),
        f"-c landing_prefixes has to have {canary.KEY.partition('/')[0]}/ among them for -c canary_hours",
    )
