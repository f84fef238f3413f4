"""A flood of SYNs beside ten connections whose limits are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def measure(
    load: list[str], monitor: Callable[..., list[str]], cache: Path
) -> list[dict[str, Any]]:
    raise NotImplementedError
