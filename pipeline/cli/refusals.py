"""What a refusal looks like on a terminal: one line that says what, where and what to do, and an exit code.

Belongs here: error class to exit code, error to text. Does not belong here: the words themselves, which the
errors bring along (`pipeline.domain.errors`).
"""

from __future__ import annotations

import enum
import errno
import json

from pipeline.domain.errors import BadDocument, BadInput, ReelwrightError, UnknownSubject


class ExitCode(enum.IntEnum):
    """What a script can tell apart."""

    OK = 0
    REFUSED = 1  #: The subject's state does not permit it, or a check failed.
    BAD_INPUT = 2  #: The command, the brief or a setting cannot be used as it is written.
    TRY_AGAIN = 3  #: Something did not answer or is full; the same call may succeed later.
    NOT_FOUND = 4  #: Nothing of that name exists.
    INTERRUPTED = 130  #: Ctrl-C.


#: The first class that fits decides.
_BY_CLASS: tuple[tuple[type[ReelwrightError], ExitCode], ...] = (
    (UnknownSubject, ExitCode.NOT_FOUND),
    (BadInput, ExitCode.BAD_INPUT),
)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def exit_code(error: ReelwrightError | OSError) -> ExitCode:
    """The exit code of *error*: by its class first, else by whether trying again may help."""
    if isinstance(error, OSError):
        return ExitCode.TRY_AGAIN if error.errno in _FULL else ExitCode.REFUSED
    for kind, code in _BY_CLASS:
        if isinstance(error, kind):
            return code
    return ExitCode.TRY_AGAIN if error.may_help else ExitCode.REFUSED


def as_text(error: ReelwrightError | OSError) -> str:
    """What and where, then the remedy. A document's faults stand on a line each."""
    told = f"error: {error}"
    if isinstance(error, BadDocument):
        told = "\n".join([f"error: {error.name} cannot be used as it stands", *map(_line, error.faults)])
    remedy = remedy_of(error)
    return told if not remedy else f"{told}{_joint(error)}{remedy}"


def as_json(error: ReelwrightError | OSError) -> str:
    """The same for a program, on one line; it goes to standard error too."""
    document = {
        "error": type(error).__name__,
        "problem": str(error),
        "remedy": remedy_of(error),
        "exit_code": int(exit_code(error)),
    }
    if isinstance(error, BadDocument):
        document["faults"] = [
            {"field": one.field, "line": one.line, "problem": one.problem, "value": one.value,
             "allowed": one.allowed}
            for one in error.faults
        ]  # fmt: skip
    return json.dumps(document, ensure_ascii=False)


def misuse_as_json(error: Exception, command: str | None) -> str:
    """A command line that cannot be understood, in the same form."""
    in_words = getattr(error, "format_message", error.__str__)
    document = {
        "error": "BadCommand",
        "problem": in_words(),
        "remedy": f"see `{' '.join(filter(None, ('reelwright', command)))} --help`",
        "exit_code": int(ExitCode.BAD_INPUT),
    }
    return json.dumps(document, ensure_ascii=False)


def remedy_of(error: ReelwrightError | OSError) -> str:
    if isinstance(error, OSError):
        return "free some space, or check who owns the file" if error.filename or error.errno in _FULL else ""
    return error.remedy


def _line(fault: object) -> str:
    return f"  - {fault}"


def _joint(error: ReelwrightError | OSError) -> str:
    """A remedy after a list has a line of its own: it is not the last item's."""
    return "\nremedy: " if isinstance(error, BadDocument) or "\n" in str(error) else "; remedy: "
