"""Which S3 server the tests of this folder run on.

Belongs here: the choice. Does not belong here: how each is built and run (`versitygw`, `seaweedfs`).
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


def running_s3() -> AbstractContextManager[S3Server]:
    """The one that `S3_SERVER` names; `make seaweedfs-test` names the second."""
    return _RUNNING[os.environ.get("S3_SERVER", "versitygw")]()
