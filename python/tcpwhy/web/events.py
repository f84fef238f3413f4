"""Tells pages when the store has changed, as server-sent events."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from tcpwhy._core import TcpwhyError
from tcpwhy.web.reader import Reader
from tcpwhy.web.rollup import Rollup

LOOK_S = 2.0
"""How often the files are looked at."""

ALIVE_S = 15.0
"""A line now and then, so that nobody between takes the connection for dead."""

NAPS = 10
"""Parts of a pause between two looks: so soon a page is told no more once it is over."""

MOST_LISTENERS = 64


class Watch:
    """Looks at the store and brings the sums up to date."""

    def __init__(self, reader: Reader, rollup: Rollup) -> None:
        self._reader = reader
        self._rollup = rollup
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.version = 0
        self.listeners = 0

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def close(self) -> None:
        """Look no more, and wait for the last look to end."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            # A part may go while it is read: the next look finds what it was joined to.
            with suppress(TcpwhyError, OSError):
                version = self._reader.version()
                if version != self.version or self._rollup.done < 1:
                    self._rollup.refresh()
                    self.version = version
            if self._over.wait(LOOK_S):
                return

    def state(self) -> dict[str, object]:
        """Say which version of the store the sums are of, and how much of it they have."""
        return {"version": self.version, "done": round(self._rollup.done, 3)}

    async def events(self, tell: Callable[[], dict[str, object]]) -> AsyncIterator[bytes]:
        """Give an event at first and with every change, for as long as somebody listens."""
        said: dict[str, object] = {}
        quiet_s = 0.0
        self.listeners += 1
        try:
            while not self._over.is_set():
                state = await asyncio.to_thread(tell)
                if state != said:
                    said, quiet_s = state, 0.0
                    yield f"event: store\ndata: {json.dumps(state)}\n\n".encode()
                elif quiet_s >= ALIVE_S:
                    quiet_s = 0.0
                    yield b": alive\n\n"
                for _ in range(NAPS):
                    if not self._over.is_set():
                        await asyncio.sleep(LOOK_S / 2 / NAPS)
                quiet_s += LOOK_S / 2
        finally:
            self.listeners -= 1
