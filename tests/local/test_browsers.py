import pytest
import requests
from lakegate_local.settings import LocalSettings
from lakegate_localstack.browsers import is_from_browser

SDK = {"Host": "127.0.0.1:4566", "User-Agent": "Boto3/1.42", "X-Amz-Date": "20261123T000000Z"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1:4566", "localhost", "sqs.us-east-1.localhost.localstack.cloud:4566", "s3.localhost:4566"]
)
def test_client_of_the_local_cloud_is_none(host: str) -> None:
    assert not is_from_browser(SDK | {"Host": host})


@pytest.mark.parametrize(
    "sent",
    [
        {"Origin": "https://app.localstack.cloud"},
        {"referer": "http://localhost:4566/"},
        {"Sec-Fetch-Mode": "no-cors"},
        {"Host": "a-page-that-leads-here.example:4566"},
        {"Host": "notlocalhost:4566"},
    ],
)
def test_browser_is_known_by_what_it_sends(sent: dict[str, str]) -> None:
    assert is_from_browser(SDK | sent)


@pytest.mark.local
@pytest.mark.parametrize("path", ["/", "/bucket/key", "/_localstack/health", "/?Action=ListStacks&Version=2010-05-15"])
def test_image_of_a_web_page_reaches_nothing(cloud: LocalSettings, path: str) -> None:
    sent = {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}

    assert requests.get(cloud.endpoint + path, headers=sent, timeout=300).status_code == 403
