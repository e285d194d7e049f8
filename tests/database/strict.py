"""A PostgreSQL as production has it: TCP, passwords, and TLS with a certificate that nobody signed.

Belongs here: starting it. Does not belong here: what is refused, or in which words.

The wheel's server is built without TLS, so that a door before it speaks it, as a proxy in production does.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from resources.database.migrate import migrate
from tests.postgres import Server

ROLE, PASSWORD = "reelwright_app", "s3cret-of-the-app"
NAME = "app"


@dataclass(frozen=True)
class Strict:
    server: Server
    port: int
    tls_port: int
    certificate: Path

    def url(self, *, user: str = ROLE, password: str = PASSWORD, host: str = "127.0.0.1",
            name: str = NAME, query: str = "") -> str:  # fmt: skip
        """At the door where *query* asks for a certificate that is checked, else at the server itself."""
        port = self.tls_port if "verify" in query else self.port
        return f"postgresql://{user}:{password}@{host}:{port}/{name}{query}"

    def administer(self, *statements: str, name: str = "postgres") -> None:
        engine = sa.create_engine(
            f"{self.server.url(name)}&port={self.port}", isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
        )
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)


@contextmanager
def running_strict(*, is_synced: bool = True) -> Iterator[Strict]:
    root = Path(tempfile.mkdtemp(prefix="rwpg-", dir="/tmp"))
    try:
        server, port = Server(root, is_synced=is_synced), _free_port()
        with (server.data / "postgresql.auto.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = '127.0.0.1'\nport = {port}\npassword_encryption = 'scram-sha-256'\n"
            )
        (server.data / "pg_hba.conf").write_text(
            f"local all all trust\nhost {NAME},postgres all 127.0.0.1/32 scram-sha-256\n"
        )
        server.start()
        try:
            with _door(root, port) as tls_port:
                strict = Strict(server, port, tls_port, root / "door.pem")
                strict.administer(
                    f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'",
                    f"CREATE DATABASE {NAME} OWNER {ROLE}",
                )
                migrate(strict.url())
                yield strict
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def _door(root: Path, port: int) -> Iterator[int]:
    """A port that agrees on TLS and passes on to *port*."""
    certificate, key = root / "door.pem", root / "door.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,
         "-out", certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_welcome, args=(listener, context, port), daemon=True).start()
        yield listener.getsockname()[1]
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def _welcome(listener: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with suppress(OSError):
        while True:
            guest, _ = listener.accept()
            threading.Thread(target=_let_in, args=(guest, context, port), daemon=True).start()


def _let_in(guest: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with guest, suppress(OSError):
        guest.recv(8)  # SSLRequest
        guest.sendall(b"S")
        with (
            socket.create_connection(("127.0.0.1", port)) as inside,
            context.wrap_socket(guest, server_side=True) as secured,
        ):
            answers = threading.Thread(target=_pass_on, args=(inside, secured), daemon=True)
            answers.start()
            _pass_on(secured, inside)
            answers.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
