"""`delivery_logs` and `delivery_paths`: where logs come in, and how a viewer's path becomes a key.

Belongs here: reading the two settings. Does not belong here: opening anything, or what a rule does
(`pipeline.domain.delivery`).
"""

from __future__ import annotations

from pathlib import Path

from pipeline.documents.store_url import read_store_url
from pipeline.domain.bucket import Bucket
from pipeline.domain.delivery import PathRule
from pipeline.domain.errors import BadSettings

LOGS, PATHS = "delivery_logs", "delivery_paths"


def read_delivery_logs(url: str) -> Bucket | Path | None:
    """The place of the logs; None for an empty setting."""
    if not url:
        return None
    if url.startswith("s3://"):
        try:
            return read_store_url(url)
        except BadSettings as error:
            raise BadSettings(LOGS, str(error).partition(": ")[2], error.remedy) from error
    scheme, _, path = url.partition("://")
    if scheme != "file" or not path.startswith("/"):
        raise BadSettings(LOGS, f"{url!r} is no place of logs", "use file:///PATH or s3://BUCKET[/PREFIX]")
    return Path(path)


def read_delivery_paths(written: str) -> tuple[PathRule, ...]:
    """Rules from `PATH=KEY,…`: `/media/=` takes `/media/` off, `/=site/` puts `site/` before every key."""
    rules = tuple(_rule(one.strip()) for one in written.split(","))
    paths = [rule.path for rule in rules]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise BadSettings(PATHS, f"says twice what {twice[0]!r} begins", "name every beginning once")
    return rules


def _rule(written: str) -> PathRule:
    path, sign, key = written.partition("=")
    if not sign or not path.startswith("/") or key.startswith("/"):
        problem = f"{written!r} is no rule"
        raise BadSettings(PATHS, problem, "write PATH=KEY, where PATH begins with a slash and KEY does not")
    return PathRule(path, key)
