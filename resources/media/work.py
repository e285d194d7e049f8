"""What a child does with its one file: find the order's function, bound itself, answer.

The order comes from the parent and is trusted, the file is not. A refusal is an answer; whatever else goes
wrong ends the child, and the parent names it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any, BinaryIO

from pipeline.domain.errors import MediaRefused, MediaUnproven
from resources.media import images, thumbnails, videos, walls
from resources.media.limits import Limits
from resources.media.wire import receive_head, send_head

Answer = tuple[dict[str, Any], list[bytes]]
Work = Callable[[BinaryIO, dict[str, Any], Callable[[int, int], None]], Answer]


def _video(file: BinaryIO, order: dict[str, Any], declare: Callable[[int, int], None]) -> Answer:
    return videos.video_facts(file, order["container"], order["size_bytes"], declare), []


def _image(file: BinaryIO, order: dict[str, Any], declare: Callable[[int, int], None]) -> Answer:
    return images.image_facts(file, order["container"], order["size_bytes"], declare), []


def _upright(file: BinaryIO, order: dict[str, Any], declare: Callable[[int, int], None]) -> Answer:
    blob, size = images.upright_bytes(file, order["container"], order["size_bytes"], order, declare)
    return {"width": size[0], "height": size[1]}, [blob]


def _derive(file: BinaryIO, order: dict[str, Any], declare: Callable[[int, int], None]) -> Answer:
    rows, blobs = thumbnails.derived(file, order["container"], order["size_bytes"], order, declare)
    return {"rows": rows}, blobs


WORKS: dict[str, Work] = {"video": _video, "image": _image, "upright": _upright, "derive": _derive}


def serve_one(peer: socket.socket, fd: int) -> None:
    """Read one order, do it, answer."""
    order = receive_head(peer)
    limits = Limits(**order["limits"])
    size_bytes = int(order["size_bytes"])
    mapped = walls.mapped_bytes()
    walls.enclose(limits.open_files)
    walls.bound_memory(limits.memory_bytes(0), limits.max_memory_bytes, mapped)
    walls.bound_time(limits.cpu_seconds(size_bytes), limits.wall_seconds(size_bytes), limits.max_cpu_seconds)

    def declare(pixels: int, pixels_at_once: int) -> None:
        send_head(peer, {"work": pixels})
        walls.bound_memory(limits.memory_bytes(pixels_at_once), limits.max_memory_bytes, mapped)
        cpu, wall = limits.cpu_seconds(size_bytes, pixels), limits.wall_seconds(size_bytes, pixels)
        walls.bound_time(cpu, wall, limits.max_cpu_seconds)

    _answer(peer, fd, order, declare)


def _answer(peer: socket.socket, fd: int, order: dict[str, Any], declare: Callable[[int, int], None]) -> None:
    try:
        with os.fdopen(fd, "rb") as file:
            found, blobs = WORKS[order["work"]](file, order, declare)
    except MediaRefused as refused:
        send_head(peer, {"refused": refused.reason, "problem": str(refused), "remedy": refused.remedy})
    except MediaUnproven as unproven:
        send_head(peer, {"unproven": unproven.reason, "problem": str(unproven)})
    except MemoryError:
        send_head(peer, {"out_of_memory": True})
    except Exception as error:  # a decoder's surprise ends this file alone, and its name helps to mend it
        send_head(peer, {"crashed": f"{type(error).__name__}: {error}"[:300]})
    else:
        send_head(peer, {"found": found, "blobs": [len(blob) for blob in blobs]})
        for blob in blobs:
            peer.sendall(blob)
