"""Serving the API on a loopback port until a signal ends it.

Belongs here: the socket and the server's settings. Does not belong here: the application (`app`).
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI

from pipeline.domain.errors import BadSettings

#: Open answers get this long when it is stopped.
GRACE_SECONDS = 5


def loopback_socket(host: str, port: int) -> socket.socket:
    """A listening socket; BadSettings for an address that others could reach, or a port that is taken.

    It listens before its address is told, so that who comes at once waits instead of being refused.
    """
    address = "127.0.0.1" if host == "localhost" else host
    if not _is_loopback(address):
        raise BadSettings(
            "--host",
            f"{host} can be reached from elsewhere, and the API has no access control yet",
            "leave it at 127.0.0.1 and put a proxy that checks who asks in front of it",
        )
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
        made.listen()
    except OSError as error:
        made.close()
        remedy = "stop what listens there, or name another port"
        raise BadSettings("api_port", f"port {port} cannot be had: {error.strerror}", remedy) from error
    return made


def serve(app: FastAPI, bound: socket.socket) -> None:
    """Answer on *bound* until SIGINT or SIGTERM; open answers are finished."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="off",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[bound])


def host_of(url: str) -> tuple[str, ...]:
    """The name under which people reach *url*, as the application is told it."""
    name = urlsplit(url).hostname
    return (name,) if name else ()


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
