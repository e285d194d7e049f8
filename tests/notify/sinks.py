"""Real servers that take alerts: an SMTP server and an HTTP one, each in a thread, remembering what came.

Belongs here: what a test needs on the other end of a channel. Does not belong here: what a test expects.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

CERTIFICATE = Path(__file__).parents[1] / "data" / "notify" / "localhost.pem"

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextmanager
def listening(talk: Talk, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server on a free loopback port in a thread of its own, ended with everything it holds."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(_quiet(talk), "127.0.0.1", 0, ssl=tls))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    open_tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in open_tasks:
        task.cancel()
    await asyncio.gather(*open_tasks, return_exceptions=True)


def _quiet(talk: Talk) -> Talk:
    async def talked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            await talk(reader, writer)
        writer.close()
        with suppress(ConnectionError, asyncio.CancelledError, ssl.SSLError):
            await writer.wait_closed()

    return talked


def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=CERTIFICATE)


@dataclass
class MailSink:
    """Enough SMTP for one message a connection; `answers` replaces the answer to a verb."""

    offers_starttls: bool = False
    answers: dict[str, str] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()  #: recipients that it refuses
    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  #: verbs, `TLS` where encryption began
    port: int = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _say(writer, "220 sink")
        while line := (await reader.readline()).decode().strip():
            verb = line.split(" ")[0].upper()
            self.said.append(verb)
            await self._answer(verb, line, reader, writer)
            if verb == "QUIT":
                return

    async def _answer(
        self, verb: str, line: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if verb in self.answers:
            await _say(writer, self.answers[verb])
        elif verb == "RCPT" and _address(line) in self.unknown:
            await _say(writer, "550 who")
        elif verb == "EHLO":
            offers = ["STARTTLS"] * (self.offers_starttls and "TLS" not in self.said) + [
                "AUTH PLAIN",
                "8BITMIME",
            ]
            await _say(writer, *(f"250-{offer}" for offer in ["sink", *offers[:-1]]), f"250 {offers[-1]}")
        elif verb == "STARTTLS":
            await _say(writer, "220 go on")
            await writer.start_tls(server_tls())
            self.said.append("TLS")
        elif verb == "DATA":
            await self._take(reader, writer)
        else:
            self._note(verb, line)
            await _say(writer, "235 welcome" if verb == "AUTH" else "221 bye" if verb == "QUIT" else "250 ok")

    def _note(self, verb: str, line: str) -> None:
        if verb == "RCPT":
            self.recipients.append(_address(line))
        if verb == "AUTH":
            self.logins.append(base64.b64decode(line.split(" ")[2]).decode())

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _say(writer, "354 go on")
        body = await reader.readuntil(b"\r\n.\r\n")
        parsed = message_from_bytes(body[:-3], policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        self.messages.append(parsed)
        await _say(writer, "250 taken")


def _address(line: str) -> str:
    return line.partition("<")[2].partition(">")[0]


async def _say(writer: asyncio.StreamWriter, *lines: str) -> None:
    writer.write("".join(f"{line}\r\n" for line in lines).encode())
    await writer.drain()


@contextmanager
def mail_sink(*, tls: bool = False, offers_starttls: bool = False, **answers: str) -> Iterator[MailSink]:
    sink = MailSink(offers_starttls, answers)
    with listening(sink.talk, server_tls() if tls else None) as port:
        sink.port = port
        yield sink


@dataclass
class HttpSink:
    """Answers every request with `answer`; None says nothing at all."""

    answer: bytes | None = b"HTTP/1.1 204 No Content\r\n\r\n"
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/services/T0/S3CRET"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")
        )
        self.heads.append(head)
        self.bodies.append(await reader.readexactly(length))
        if self.answer is None:
            await reader.read()
        else:
            writer.write(self.answer)
            await writer.drain()


@contextmanager
def http_sink(answer: bytes | None = HttpSink.answer) -> Iterator[HttpSink]:
    sink = HttpSink(answer)
    with listening(sink.talk) as port:
        sink.port = port
        yield sink
