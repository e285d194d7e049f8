"""Which S3 server the tests of this folder run on.

Belongs here: the choice, and what a server is known to do otherwise. Does not belong
here: how each is built and run (`versitygw`, `seaweedfs`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Protocol

from tests.services.seaweedfs import running_seaweedfs
from tests.services.versitygw import running_versitygw


class S3Server(Protocol):
    """Keeps its port and what it holds when it is killed and started again."""

    port: int

    @property
    def endpoint(self) -> str: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...


_RUNNING: Mapping[str, Callable[[], AbstractContextManager[S3Server]]] = MappingProxyType(
    {"versitygw": running_versitygw, "seaweedfs": running_seaweedfs}
)


#: Tests that fail on the second server by what it is, as `docs/s3.md` says; one that passes is told.
DIFFERS: Mapping[str, str] = MappingProxyType(
    {
        "test_a_key_below_an_object_is_refused_by_name_on_a_server_of_files": "it keeps both",
        "TestVersioned::test_lists_are_in_byte_order_by_prefix_and_go_on_after_a_key": "no byte order",
        "TestVersioned::test_every_awkward_name_is_its_own_object_by_every_road": "no byte order",
    }
)


def difference(test: str) -> str | None:
    """Why the server of choice is known to fail *test*."""
    if _chosen() == "versitygw":
        return None
    return next((why for name, why in DIFFERS.items() if name in test), None)


def running_s3() -> AbstractContextManager[S3Server]:
    """The one that `S3_SERVER` names; `make seaweedfs-test` names the second."""
    return _RUNNING[_chosen()]()


def _chosen() -> str:
    return os.environ.get("S3_SERVER", "versitygw")
