"""What OpenSearch says when it does not do as asked, in our words.

Belongs here: the one translation of errors of calls, and of items of a bulk. Does not belong here: who may
try again (`pipeline.steps`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from opensearchpy import exceptions

from pipeline.domain.errors import IndexRefused, IndexUnavailable
from resources.tag_index.protocol import Outcome, WriteResult

BLOCKED = "cluster_block_exception"
#: The one refusal that an entry can be the cause of: every other 400 is about the index.
OWN_FAULT = "illegal_argument_exception"
_REASON_CHARACTERS = 300


class Said(NamedTuple):
    words: str
    remedy: str = ""


_READ_ONLY = Said(
    "is read-only", "free space on its disks, then set `index.blocks.read_only_allow_delete` to null"
)

#: What each class of error means, the most specific first.
MEANINGS: Mapping[type[Exception], Said] = MappingProxyType(
    {
        exceptions.ConnectionTimeout: Said("did not answer in time", "look at the server's load"),
        exceptions.SSLError: Said(
            "cannot be trusted", "check its certificate; SSL_CERT_FILE names authorities"
        ),
        exceptions.ConnectionError: Said(
            "is not reached", "start the server, or correct REELWRIGHT_INDEX_URL"
        ),
        exceptions.AuthenticationException: Said(
            "does not know the account",
            "correct REELWRIGHT_INDEX_PASSWORD, or the user in REELWRIGHT_INDEX_URL",
        ),
        exceptions.AuthorizationException: Said(
            "does not let the account do this", "give it every right on the alias and its indices"
        ),
        exceptions.NotFoundError: Said("has no such index or alias", "run `reelwright rebuild`"),
        exceptions.TransportError: Said("answered with an error"),
        Exception: Said(
            "gave no answer that can be read", "see that REELWRIGHT_INDEX_URL is an OpenSearch server"
        ),
    }
)


@contextmanager
def named_trouble() -> Iterator[None]:
    """IndexUnavailable for whatever goes wrong in a call, or is missing in its answer."""
    try:
        yield
    except (exceptions.OpenSearchException, OSError, LookupError, TypeError) as error:
        raise _unavailable(error) from error


@contextmanager
def named_refusal() -> Iterator[None]:
    """Around a question inside `named_trouble`: what the server cannot read is the question's fault."""
    try:
        yield
    except exceptions.RequestError as error:
        raise IndexRefused(f"the tag index does not take the question: {_reason(error)}") from error


def _unavailable(error: Exception) -> IndexUnavailable:
    if isinstance(error, exceptions.TransportError) and error.error == BLOCKED:
        return read_only(_reason(error))
    said = next(said for kind, said in MEANINGS.items() if isinstance(error, kind))
    return _named(said, _reason(error))


def read_only(reason: str) -> IndexUnavailable:
    return _named(_READ_ONLY, reason)


def _named(said: Said, reason: str) -> IndexUnavailable:
    named = IndexUnavailable(f"the tag index {said.words}: {reason}")
    named.remedy = said.remedy
    return named


def _reason(error: Exception) -> str:
    return str(error).replace("\n", " ")[:_REASON_CHARACTERS]


def write_result(entry_id: str, item: Mapping[str, Any]) -> WriteResult:
    """What became of one item. 409 says that this version, or a newer one, is there."""
    status, error = item["status"], item.get("error", {})
    if status < 300:
        return WriteResult(entry_id, Outcome.WRITTEN)
    if status == 409:
        return WriteResult(entry_id, Outcome.NEWER_IS_THERE)
    reason = f"{error.get('type')}: {error.get('reason')}"[:_REASON_CHARACTERS]
    own_fault = status == 400 and error.get("type") == OWN_FAULT
    return WriteResult(entry_id, Outcome.REFUSED if own_fault else Outcome.TRY_AGAIN, reason)
