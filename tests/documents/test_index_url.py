"""The tag index's URL: `sql`, or a server and an alias; a password in it is refused and not repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.documents.index_url import IndexAddress, read_index_url
from pipeline.documents.settings import read_settings
from pipeline.domain.errors import BadSettings


def test_sql_is_no_address() -> None:
    assert read_index_url("sql") is None


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:9200/tags", IndexAddress("http://127.0.0.1:9200", "", "tags")),
        ("http://search/tags", IndexAddress("http://search:9200", "", "tags")),
        ("https://ada@host/reel-wright_1/", IndexAddress("https://host:443", "ada", "reel-wright_1")),
        ("https://a%40b@h.example.com:9201/t", IndexAddress("https://h.example.com:9201", "a@b", "t")),
        ("http://[::1]:9200/tags", IndexAddress("http://[::1]:9200", "", "tags")),
    ],
)
def test_a_server_and_an_alias_are_read(url: str, address: IndexAddress) -> None:
    assert read_index_url(url) == address


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("grep", "sql"),
        ("", "sql"),
        ("ftp://host/tags", "neither"),
        ("https:///tags", "neither"),
        ("https://host:99999/tags", "is no URL"),
        ("https://host:port/tags", "is no URL"),
        ("https://ho st/tags", "neither"),
        ("https://host/tags?x=1", "neither"),
        ("https://host", "alias"),
        ("https://host/Tags", "alias"),
        ("https://host/a/b", "alias"),
        ("https://host/*", "alias"),
        ("https://host/_all", "alias"),
        ("https://host/a,b", "alias"),
    ],
)
def test_anything_else_is_refused(url: str, said: str) -> None:
    with pytest.raises(BadSettings, match=said) as refused:
        read_index_url(url)
    assert refused.value.setting == "index_url"
    assert "https://[USER@]HOST[:PORT]/ALIAS" in refused.value.remedy


@pytest.mark.parametrize("url", ["https://ada:s3cret@host/tags", "https://ada:@host/tags"])
def test_a_password_belongs_into_a_setting_of_its_own(url: str) -> None:
    with pytest.raises(BadSettings, match="password") as refused:
        read_index_url(url)
    assert "REELWRIGHT_INDEX_PASSWORD" in refused.value.remedy
    assert "s3cret" not in str(refused.value)


def test_the_password_is_masked(tmp_path: Path) -> None:
    settings = read_settings(
        {"REELWRIGHT_INDEX_URL": "https://ada@host/tags", "REELWRIGHT_INDEX_PASSWORD": "s3cret"}, tmp_path
    )

    assert settings.index == IndexAddress("https://host:443", "ada", "tags")
    assert settings.index_password.get_secret_value() == "s3cret"
    assert "s3cret" not in repr(settings) + str(settings)
