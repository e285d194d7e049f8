"""What a database says when it does not do as asked, in our words: what is wrong, and how to mend it.

Belongs here: the table of what PostgreSQL's client library and SQLite say. Does not belong here: what is
tried again, and how often (`database`).

A connection that never came about has no SQLSTATE in the driver, so that the words decide. A server that
speaks another language is told in its own words, on one line. None of them holds a password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import sqlalchemy as sa

from pipeline.domain.errors import DatabaseUnavailable

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Meaning:
    """*may_help* says whether the same call later may succeed although nobody did anything."""

    pattern: str
    problem: str
    remedy: str
    may_help: bool = True


_URL = "correct database_url (REELWRIGHT_DATABASE_URL)"

#: The first that fits decides.
MEANINGS: tuple[Meaning, ...] = (
    Meaning(
        "password authentication failed|no password supplied",
        "it does not take the user and password",
        f"{_URL}, or the role's password and its expiry (VALID UNTIL)",
        may_help=False,
    ),
    Meaning(
        r'database ".*" does not exist',
        "the server has no such database",
        f"create it (`createdb`, then `reelwright migrate`), or {_URL}",
        may_help=False,
    ),
    Meaning(
        r'role ".*" (does not exist|is not permitted to log in)',
        "the server has no such role",
        f"create it with LOGIN, or {_URL}",
        may_help=False,
    ),
    Meaning(
        "no pg_hba.conf entry|pg_hba.conf rejects",
        "the server does not let this machine in",
        "add this machine to pg_hba.conf, or connect with TLS (?sslmode=require) if it asks for that",
        may_help=False,
    ),
    Meaning(
        "server does not support SSL",
        "the server speaks no TLS, which sslmode asks for",
        "set ssl = on at the server, or another sslmode in database_url",
        may_help=False,
    ),
    Meaning(
        r"certificate|SSL error|SSL SYSCALL|private key file|invalid response to SSL",
        "no trusted TLS connection comes about",
        "check the server's certificate and name; sslmode and sslrootcert in database_url",
        may_help=False,
    ),
    Meaning(
        "could not translate host name|Name or service not known",
        "its host has no address",
        f"{_URL}, or name resolution here",
    ),
    Meaning(
        "unsupported startup parameter",
        "a connection pooler does not pass on Reelwright's time-outs",
        "connect to PostgreSQL itself: Reelwright keeps its own pool",
        may_help=False,
    ),
    Meaning(
        "too many clients|remaining connection slots|too many connections",
        "all its connections are taken",
        "raise max_connections, or run fewer processes (docs/settings.md)",
    ),
    Meaning("starting up|shutting down|in recovery mode|not yet accepting", "it is starting or stopping",
            "wait, then run again"),
    Meaning(
        "read-only transaction",
        "it takes no writes",
        "name the primary server in database_url",
        may_help=False,
    ),
    Meaning(
        "permission denied",
        "the role may not do this",
        "make the role the owner of the database and its tables",
        may_help=False,
    ),
    Meaning("No space left|disk is full|disk full|could not extend file", "its disk is full",
            "free space there, then run again; nothing was changed"),
    Meaning(
        "lock timeout|deadlock detected|database is locked",
        "somebody else holds what is needed",
        "run again; if it stays, look for a program that holds the database",
    ),
    Meaning("statement timeout", "a statement took too long", "look at the server's load, then run again"),
    Meaning(
        "Connection refused|timeout expired|timed out|No route to host|Network is unreachable"
        "|No such file or directory|closed the connection|terminating connection|connection to server",
        "it does not answer",
        f"start the server, see that it is reached from here, or {_URL}",
    ),
)  # fmt: skip


def unavailable(error: sa.exc.DBAPIError) -> DatabaseUnavailable:
    """One line that says what is wrong, with its remedy."""
    said = " ".join(str(error.orig).split())[:_LONGEST]
    meaning = next((one for one in MEANINGS if re.search(one.pattern, said)), None)
    if meaning is None:
        return DatabaseUnavailable(f"database: {said}")
    named = DatabaseUnavailable(f"database: {meaning.problem}: {said}")
    named.remedy, named.may_help = meaning.remedy, meaning.may_help
    return named


def in_doubt(error: DatabaseUnavailable) -> DatabaseUnavailable:
    """The last COMMIT was not answered, and cannot be looked up."""
    named = DatabaseUnavailable(f"{error}; whether the last COMMIT took effect is not known")
    named.remedy = f"{error.remedy}; then look at the rows: what was done is not done again"
    return named
