"""Registries of container images: the digest that a tag has now, asked by HTTPS. No image is downloaded."""

import hashlib
import json
import re
from urllib.request import parse_http_list, parse_keqv_list

import requests

from lakegate.adapters.http import TimeoutAdapter, mount, network_error, status_error
from lakegate.errors import Misconfigured

SECONDS = 30.0
LARGEST = 4 * 1024**2  # bytes of a manifest, which is all that a registry has to take
LISTS = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_IMAGE = re.compile(r"(?P<host>[^/]+)/(?P<name>[^:@]+)(:(?P<tag>[\w.-]+))?(@(?P<digest>sha256:[0-9a-f]{64}))?")


class Images:
    """Public images, of which a registry gives the manifests to anybody."""

    def __init__(self, http: TimeoutAdapter | None = None) -> None:
        self._session = mount(requests.Session(), http or TimeoutAdapter(seconds=SECONDS, largest=LARGEST))

    def pin(self, image: str, architecture: str) -> str:
        """Return `<registry>/<name>:<tag>` with the digest of what it is now. Raise Misconfigured if there is no such
        image, or none for Linux on the architecture, as Docker names it.
        """
        answer = self._manifest(image)
        platforms = platforms_of(answer.text, image)
        if f"linux/{architecture}" not in platforms:
            raise Misconfigured(
                f"{image} has no variant for linux/{architecture}, on which its tasks run, but for "
                f"{', '.join(platforms) or 'one platform alone'}: choose another catalog.image"
            )
        return f"{image}@sha256:{hashlib.sha256(answer.content).hexdigest()}"

    def platforms(self, image: str) -> list[str]:
        """Return the platforms of an image's variants, such as linux/arm64; none if it has but one variant."""
        return platforms_of(self._manifest(image).text, image)

    def _manifest(self, image: str) -> requests.Response:
        """Return the answer with the list of an image's variants."""
        parts = _IMAGE.fullmatch(image)
        reference = parts and (parts["digest"] or parts["tag"])
        if not parts or not reference:
            raise Misconfigured(f"{image} is no <registry>/<name>:<tag>, so no registry can be asked for its digest")
        action, url = (
            f"asking for the digest of {image}",
            f"https://{parts['host']}/v2/{parts['name']}/manifests/{reference}",
        )
        try:
            answer = self._session.get(url, headers={"Accept": ", ".join(LISTS)})
            if answer.status_code == requests.codes.unauthorized:
                token = self._token(answer.headers.get("WWW-Authenticate", ""))
                headers = {"Accept": ", ".join(LISTS), "Authorization": f"Bearer {token}"}
                answer = self._session.get(url, headers=headers)
        except requests.RequestException as error:
            raise network_error(action, error, changes=False) from error
        except (KeyError, ValueError) as error:
            raise Misconfigured(f"{action}: the registry gives no token to strangers ({error!r})") from error
        if not answer.ok:
            raise status_error(action, answer.status_code, answer.reason, is_catalog=False, changes=False)
        return answer

    def _token(self, challenge: str) -> str:
        """Return the token that a registry's challenge leads to."""
        words = parse_keqv_list(parse_http_list(challenge.partition(" ")[2]))
        query = {name: words[name] for name in ("service", "scope") if name in words}
        tokens = self._session.get(words["realm"], params=query).json()
        return str(tokens.get("token") or tokens["access_token"])


def platforms_of(manifest: str, image: str) -> list[str]:
    """Return the platforms of an image's variants; none of a manifest that is of one variant itself."""
    try:
        variants = json.loads(manifest).get("manifests", ())
        platforms = [variant["platform"] for variant in variants if "platform" in variant]
        return [f"{platform['os']}/{platform['architecture']}" for platform in platforms]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Misconfigured(f"what the registry has for {image} is no manifest of an image: {error!r}") from error
