"""The warm parent: a process of one thread that has the decoders loaded and forks one child for each file.

Started by `resources.media.sandbox`, one for each Sandbox. It opens no file and parses nothing itself: each
order is three descriptors (a socket for the child, the file, a pipe for the exit status), so that no name
reaches a decoder. It ends with its owner: its control socket closes, or its parent's id changes.

Importing PyAV costs 200 ms, forking a process that has it about 10.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys

from resources.media import walls
from resources.media.wire import Broken, send_head

_OWNER_CHECK_MS = 5_000
_CONTROL_FD = 0


def main() -> None:
    """Serve until the owner goes. Descriptor 0 is the control socket."""
    owner = os.getppid()
    control = socket.socket(fileno=os.dup(_CONTROL_FD))
    _silence((0, 1))
    network = walls.leave_network()
    from resources.media.work import serve_one  # loads the decoders, which may start threads

    os.environ.clear()
    gc.collect()
    gc.freeze()  # shared pages stay shared: no child's collection touches them
    send_head(control, {"ready": os.getpid(), "network": network.value})
    _silence((2,))
    _Nursery(control, owner, serve_one).run()


class _Nursery:
    """Forks, reaps, reports; all state is which child belongs to which status socket."""

    def __init__(self, control: socket.socket, owner: int, serve_one) -> None:  # type: ignore[no-untyped-def]
        self._control = control
        self._owner = owner
        self._serve_one = serve_one
        self._poll = select.poll()
        self._children: dict[int, socket.socket] = {}
        self._wake, wake_write = socket.socketpair()
        wake_write.setblocking(False)
        self._wake.setblocking(False)
        signal.set_wakeup_fd(wake_write.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the owner's to act upon
        self._wake_write = wake_write

    def run(self) -> None:
        self._poll.register(self._control, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        while os.getppid() == self._owner:
            ready = {fd for fd, _ in self._poll.poll(_OWNER_CHECK_MS)}
            if self._wake.fileno() in ready:
                self._reap()
            self._end_abandoned(ready)
            if self._control.fileno() in ready and not self._take_order():
                break
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)

    def _take_order(self) -> bool:
        message, fds, _, _ = socket.recv_fds(self._control, 1, 3)
        if not message or len(fds) != 3:
            return False
        peer, file, status = fds
        pid = os.fork()
        if pid == 0:
            self._be_child(peer, file, status)
        os.close(peer)
        os.close(file)
        self._children[pid] = socket.socket(fileno=status)
        self._poll.register(status, select.POLLIN)
        return True

    def _be_child(self, peer: int, file: int, status: int) -> None:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.close(status)
            for other in (self._control, self._wake, self._wake_write, *self._children.values()):
                other.close()
            self._serve_one(socket.socket(fileno=peer), file)
            code = 0
        except (Broken, OSError, MemoryError):
            code = 2
        finally:
            os._exit(code)

    def _reap(self) -> None:
        self._drain()
        for pid in list(self._children):
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                self._report(self._children.pop(pid), os.waitstatus_to_exitcode(status))

    def _report(self, status: socket.socket, code: int) -> None:
        self._poll.unregister(status)
        try:
            send_head(status, {"exit": code})
        except OSError:  # nobody waits for it any more
            pass
        finally:
            status.close()

    def _end_abandoned(self, ready: set[int]) -> None:
        """An owner that gives a child up closes its end; the child is then killed and reaped as any other."""
        for pid, status in self._children.items():
            if status.fileno() in ready:
                self._poll.modify(status, 0)
                os.kill(pid, signal.SIGKILL)

    def _drain(self) -> None:
        try:
            while self._wake.recv(512):
                pass
        except BlockingIOError:
            pass


def _silence(fds: tuple[int, ...]) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in fds:
        os.dup2(nowhere, fd)
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())  # type: ignore[func-returns-value]
