"""What the documents say is so: commands, options, settings, fields, and the briefs in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.main import COMMANDS, load
from pipeline.documents.brief import BriefDocument, read_brief
from pipeline.documents.settings import PREFIX, Settings, read_settings
from resources.database import engine, migrate, safety

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/backup-and-restore.md",
    "docs/brief.md",
    "docs/cli.md",
    "docs/delivery-logs.md",
    "docs/licences.md",
    "docs/metrics.md",
    "docs/money.md",
    "docs/report.md",
    "docs/opensearch.md",
    "docs/operating.md",
    "docs/upgrade.md",
)


def _page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _section(name: str) -> str:
    """The part of docs/cli.md about one command."""
    [section] = re.findall(rf"(?ms)^## reelwright {name}$(.*?)(?=^## |\Z)", _page("docs/cli.md"))
    return str(section)


def _said(section: str) -> dict[str, str]:
    return dict(re.findall(r"(?m)^\| `(.+?)` \| (.*?) \|$", section))


def _is(name: str) -> dict[str, str]:
    """Each argument and option of a command, as the page should spell them, with its help."""
    return {_spelled(one): (one.help or "").split("  [")[0] for one in load(name).params}


def _spelled(parameter: Any) -> str:
    """An option by its long name, an argument as the usage line shows it."""
    if parameter.opts[0].startswith("-"):
        return str(parameter.opts[0])
    return str(parameter.metavar or parameter.name.upper())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_names_every_argument_and_option_and_no_other(name: str) -> None:
    assert _said(_section(name)) == _is(name)
    assert COMMANDS[name].help in _section(name)


def test_the_reference_has_a_section_a_command_in_the_order_of_the_help() -> None:
    assert re.findall(r"(?m)^## reelwright (\w+)$", _page("docs/cli.md")) == list(COMMANDS)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_is_there(page: str) -> None:
    named = re.findall(r"(?:`|\$ (?:\.venv/bin/)?)reelwright ([a-z]+)", _page(page))

    assert set(named) <= set(COMMANDS)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_that_a_page_links_to_is_there(page: str) -> None:
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", _page(page))

    assert [link for link in linked if not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("page", ["README.md", "docs/brief.md"])
def test_the_brief_on_a_page_can_be_delivered(page: str) -> None:
    briefs = [block for block in re.findall(r"(?s)```yaml\n(.*?)```", _page(page)) if "tenant:" in block]

    assert briefs
    assert [read_brief(text, name=page).campaign for text in briefs]


def test_every_field_of_a_brief_is_in_its_reference() -> None:
    said = {field.partition(".")[0] for field in re.findall(r"(?m)^\| `([\w.]+)` \|", _page("docs/brief.md"))}
    fields = {field.alias or name for name, field in BriefDocument.model_fields.items()}

    assert said == fields


def test_every_setting_is_on_its_page_under_both_its_names() -> None:
    said = dict(re.findall(rf"(?m)^\| `(\w+)`, `{PREFIX}(\w+)` \|", _page("docs/settings.md")))

    assert said == {name: name.upper() for name in Settings.model_fields}


def test_every_recipe_that_a_page_names_is_in_the_makefile() -> None:
    recipes = set(re.findall(r"(?m)^([a-z-]+):", _page("Makefile")))
    named = {word for page in PAGES for word in re.findall(r"(?m)(?:`|^\$ )make ([a-z-]+)", _page(page))}

    assert named <= recipes


def test_the_settings_file_for_production_can_be_read(tmp_path: Path) -> None:
    [text] = re.findall(r"(?s)```yaml\n(.*?)```", _page("docs/settings.md"))
    (tmp_path / "reelwright.yaml").write_text(text)
    settings = read_settings({}, tmp_path)

    assert settings.bucket is not None
    assert settings.index is not None
    assert settings.home == Path("/var/lib/reelwright")


def test_what_the_page_says_of_postgresql_is_so() -> None:
    said = dict(re.findall(r"(?m)^\| (.+?) \| (\d+)(?: s)? \|$", _page("docs/settings.md")))
    is_so = {
        "connections that a process keeps": engine.POOL_SIZE,
        "and opens beside them at need": engine.POOL_OVERFLOW,
        "a thread waits for one of them": engine.POOL_WAIT_SECONDS,
        "a connection comes about within": engine.CONNECT_SECONDS,
        "`statement_timeout`": engine.STATEMENT_TIMEOUT_MS // 1000,
        "`lock_timeout`": engine.LOCK_TIMEOUT_MS // 1000,
        "`idle_in_transaction_session_timeout`": engine.IDLE_IN_TRANSACTION_MS // 1000,
    }

    assert {name: int(said[name]) for name in is_so} == is_so
    assert f"more than {safety.CLOCK_SECONDS:.0f} s" in _page("docs/settings.md")
    assert f"at most {migrate.TABLE_WAIT_MS // 1000} s" in _page("docs/settings.md")
