"""What the renderer forgets by itself: stills that no job waits for any more.

Belongs here: which and when. Does not belong here: outputs (they stay until the client deletes them) and job
records (they stay as long as the store).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from resources.local_renderer.job_store import JobStore
from resources.local_renderer.store_folder import StoreFolder

_KEEP_SECONDS = 24 * 3600
_PAUSE_SECONDS = 3600.0


async def keep_forgetting(store: JobStore, folder: StoreFolder, clock: Callable[[], int]) -> None:
    while True:
        forget_assets(store, folder, clock())
        await asyncio.sleep(_PAUSE_SECONDS)


def forget_assets(store: JobStore, folder: StoreFolder, now: int) -> int:
    """Drop uploads older than a day that no queued or running job needs; gives their number.

    A client that comes back later is told `missing_assets` and uploads them again.
    """
    in_use, before = store.assets_in_use(), now / 1e6 - _KEEP_SECONDS
    old = [path for path in folder.assets() if path.name not in in_use and path.stat().st_mtime < before]
    for path in old:
        path.unlink()
    return len(old)
