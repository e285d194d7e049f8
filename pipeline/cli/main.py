"""`reelwright`: the table of commands, and how refusals become exit codes.

Belongs here: which command lives where. Does not belong here: any command (one file a group of them).

A command's module is imported when that command runs: `--help` reads the table alone.
"""

from __future__ import annotations

import errno
import importlib
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from pipeline.cli.refusals import ExitCode, as_json, as_text, exit_code, misuse_as_json
from pipeline.domain.errors import ReelwrightError


class Command(NamedTuple):
    place: str  #: module:function
    help: str  #: the first sentence of the function's docstring


COMMANDS: Mapping[str, Command] = {
    "submit": Command("submit:submit", "Deliver a brief with its images, or amend one that was delivered."),
    "status": Command("status:status", "Say how every wanted video stands."),
    "search": Command("search:search", "Find published videos by words, tags and fields."),
    "plan": Command("plan:plan", "Say what happens next to every wanted video, and change nothing."),
    "history": Command(
        "history:history",
        "Say what happened: every move, send, look and decision, and every publication by its number.",
    ),
    "explain": Command(
        "explain:explain",
        "Prove from the database alone which inputs and decisions made a video, also after its purge.",
    ),
    "moderate": Command("moderate:moderate", "Approve or reject a revision's images and copy."),
    "accept": Command("items:accept", "Let a finished video into its slot."),
    "decline": Command("items:decline", "Keep a finished video out of its slot, or take it out."),
    "retry": Command("items:retry", "Make a new attempt of a failed, cancelled or overdue video."),
    "cancel": Command("items:cancel", "Cancel a video that is not made yet."),
    "rollback": Command("slots:rollback", "Show an earlier video in a slot again."),
    "withdraw": Command("slots:withdraw", "Take back an undecided revision, or what a slot shows."),
    "pause": Command("claims:pause", "Hold work of a stage, provider or tenant; nothing is lost."),
    "resume": Command("claims:resume", "End a pause."),
    "resolve": Command("claims:resolve", "Give the verdict on a submission whose answer was lost."),
    "inspect": Command("inspect:inspect", "Say what each file is and whether it would be taken."),
    "doctor": Command("doctor:doctor", "Check that everything Reelwright stands on works."),
    "check": Command("reconcile:check", "Check that everything that is claimed is true."),
    "reconcile": Command(
        "reconcile:reconcile",
        "Make the one legal step where something was left behind, and say what and why.",
    ),
    "backfill": Command(
        "backfill:backfill", "Make pictures anew, or tell the index or the tags again; nothing is made twice."
    ),
    "rebuild": Command(
        "rebuild:rebuild", "Build the tag index anew beside the live one, and put it in its place."
    ),
    "usage": Command(
        "usage:usage",
        "Read delivery logs: how many lines count, and how many bytes they say were sent.",
    ),
    "retention": Command(
        "retention:retention",
        "Plan, approve, run, undo and prove what is thrown away; nothing goes unapproved.",
    ),
    "hold": Command("hold:hold", "Place, release or list legal holds: what nobody may purge."),
    "rate": Command("money:rate", "Turn a month's usage into ledger lines; only what differs is posted."),
    "ledger": Command("money:ledger", "Say what a month cost: by account, unpriced, nobody's, corrected."),
    "report": Command(
        "report:report",
        "Write a month's finance report: a page, CSV, a workbook, Parquet, FOCUS, a manifest.",
    ),
    "close": Command("money:close", "Close a month for good, once nothing is missing."),
    "invoice": Command("money:invoice", "Lay a provider's invoice beside our attempts, line by line."),
    "metrics": Command("metrics:metrics", "Print what is counted and measured, as Prometheus reads it."),
    "migrate": Command("upkeep:migrate", "Bring the database to this release's revision."),
    "api": Command("api:api", "Serve status, previews and metrics over HTTP, to this machine alone."),
    "dev": Command("dev:dev", "Start Dagster's UI and daemon, the local renderer and the HTTP API together."),
    "demo": Command("demo:demo", "Run a sample campaign from brief to published videos."),
}


class Commands(TyperGroup):
    """Lists from the table, imports what is called, and turns a refusal into one line and an exit code."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=named.help) for name, named in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in COMMANDS:
            return args[0], load(args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        is_for_a_program = "--json" in ctx.args
        in_words = as_json if is_for_a_program else as_text
        try:
            return super().invoke(ctx)
        except TyperException as error:
            if not is_for_a_program:
                raise
            typer.echo(misuse_as_json(error, ctx.invoked_subcommand), err=True)
            raise typer.Exit(ExitCode.BAD_INPUT) from error
        except (ReelwrightError, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            typer.echo(in_words(error), err=True)
            raise typer.Exit(exit_code(error)) from error


def load(name: str) -> Any:
    """The command *name* as typer runs it; its module is imported now."""
    module, _, function = COMMANDS[name].place.partition(":")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name)(getattr(importlib.import_module(f"pipeline.cli.{module}"), function))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="AI marketing-video jobs: briefs in, published videos out, paid for once.",
    epilog="Exit codes: 0 done; 1 refused, or a check failed; 2 bad input; 3 try again later; 4 not found.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("reelwright"))
        raise typer.Exit


@app.callback()
def reelwright(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Nothing is decided here: every command reads its own settings."""


def main() -> None:
    app(prog_name="reelwright")


if __name__ == "__main__":
    main()
