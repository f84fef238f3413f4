"""Optional dependencies: an absent one is named together with the extra that brings it."""

import importlib
from types import ModuleType

from tcpwhy._core import UsageError


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional dependency."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        message = f"this needs {error.name}: pip install 'tcpwhy[{extra}]'"
        raise UsageError(message) from error
