"""Local copies of S3 objects, fetched once for each content. It never changes an object."""

import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class FetchedFiles:
    """A folder of objects by ETag, because all jobs read the same jars."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fetch(self, s3: Any, uri: str) -> Path | str:
        """Return the path of the object's copy, or a URI of another scheme unchanged."""
        parts = urlsplit(uri, allow_fragments=False)
        if parts.scheme not in {"s3", "s3a"}:
            return uri
        bucket, key = parts.netloc, parts.path.lstrip("/")
        etag: str = s3.head_object(Bucket=bucket, Key=key)["ETag"].strip('"')
        target = self._folder / etag / Path(key).name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, partial = tempfile.mkstemp(dir=target.parent)
            os.close(handle)
            s3.download_file(bucket, key, partial)
            Path(partial).replace(target)
        return target
