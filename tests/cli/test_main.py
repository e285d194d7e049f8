"""The command as a whole: quick help, one table, exit codes, JSON everywhere."""

from __future__ import annotations

import errno
import inspect
import json
import os
import subprocess
import sys

import pytest

from pipeline.cli.main import COMMANDS, app, load
from pipeline.cli.refusals import ExitCode, as_json, as_text, exit_code
from pipeline.domain import errors
from tests.cli.desk import COMMAND, Desk

#: Commands that run processes until they are stopped, or print a story.
WITHOUT_JSON = {"api", "dev", "demo"}
HEAVY = ("sqlalchemy", "aiohttp", "pydantic", "dagster", "av", "PIL", "yaml", "alembic")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from pipeline.cli.main import app\n"
        "try:\n app(['--help'])\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_the_table_is_the_first_sentence_of_the_command(name: str) -> None:
    command = load(name)

    assert command.help is not None
    assert inspect.cleandoc(command.help).split("\n\n")[0].startswith(COMMANDS[name].help.rstrip("."))


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - WITHOUT_JSON))
def test_every_command_that_answers_can_answer_in_json(name: str) -> None:
    options = [option for parameter in load(name).params for option in parameter.opts]

    assert "--json" in options


def test_a_mistyped_command_is_bad_usage_and_names_the_nearest(desk: Desk) -> None:
    done = desk.run("statsu")

    assert done.exit_code == ExitCode.BAD_INPUT
    assert "status" in done.stderr


def test_the_version_is_the_installed_one(desk: Desk) -> None:
    assert desk.run("--version").stdout.strip() == "0.1.0"


def test_the_installed_command_answers_in_a_process_of_its_own(desk: Desk) -> None:
    answered = desk.process("status", "--json")
    refused = desk.process("status", "acme.spring", "--json")
    told = json.loads(refused.stderr)

    assert json.loads(answered.stdout)["wishes"] == []
    assert (answered.returncode, refused.returncode) == (0, 4)
    assert (told["error"], told["exit_code"], refused.stdout) == ("UnknownSubject", 4, "")


def test_output_into_a_closed_pipe_is_no_traceback(desk: Desk) -> None:
    environment = {**os.environ, **desk.environment}
    with subprocess.Popen(
        [COMMAND, "status"], cwd=desk.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as done:
        assert done.stdout is not None
        assert done.stderr is not None
        done.stdout.close()
        said = done.stderr.read().decode()

    assert "Traceback" not in said


def _classes(kind: type[errors.ReelwrightError]) -> list[type[errors.ReelwrightError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _classes(child))]


def _expected(kind: type[errors.ReelwrightError]) -> ExitCode:
    if issubclass(kind, errors.UnknownSubject):
        return ExitCode.NOT_FOUND
    if issubclass(kind, errors.BadInput):
        return ExitCode.BAD_INPUT
    return ExitCode.TRY_AGAIN if kind.may_help else ExitCode.REFUSED


@pytest.mark.parametrize("kind", _classes(errors.ReelwrightError), ids=lambda kind: kind.__name__)
def test_every_refusal_has_an_exit_code_and_words(kind: type[errors.ReelwrightError]) -> None:
    error = kind.__new__(kind)
    Exception.__init__(error, "what and where")
    error.name, error.faults = "brief.yaml", ()  # type: ignore[attr-defined]
    error.remedy = "do this"

    assert exit_code(error) is _expected(kind)
    assert as_text(error).endswith("remedy: do this")
    assert json.loads(as_json(error))["remedy"] == "do this"


def test_a_full_disk_is_a_try_again_and_a_forbidden_file_is_not() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/spool/x")
    forbidden = PermissionError(errno.EACCES, "Permission denied", "/spool/x")

    assert exit_code(full) is ExitCode.TRY_AGAIN
    assert exit_code(forbidden) is ExitCode.REFUSED
    assert "/spool/x" in as_text(full)


def test_every_command_line_option_is_spelled_like_the_others() -> None:
    commands = [load(name) for name in COMMANDS]
    options = {option for one in commands for parameter in one.params for option in parameter.opts}

    assert not [option for option in options if option.startswith("-") and "_" in option]
    assert app.info.help
