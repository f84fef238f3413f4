from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, final

__all__ = [
    "Annotations",
    "Batch",
    "Column",
    "Emulation",
    "Feed",
    "InputError",
    "PrivilegeError",
    "Rows",
    "Simulation",
    "Stream",
    "TcpwhyError",
    "UsageError",
    "__version__",
    "analyze",
    "counters",
    "emulate",
    "judge",
    "limits",
    "models",
    "monitor",
    "predict",
    "predict_one",
    "scenario_names",
    "schemas",
    "simulate",
    "solve",
    "sweep",
    "tables_by_maker",
    "thresholds",
    "world_scenario",
    "world_version",
]

__version__: str

class TcpwhyError(Exception):
    exit_code: int

class UsageError(TcpwhyError): ...
class InputError(TcpwhyError): ...
class PrivilegeError(TcpwhyError): ...

@final
class Annotations:
    def __new__(cls) -> Annotations: ...
    def add(self, src: tuple[str, int], dst: tuple[str, int], at_ns: int, text: str) -> bool: ...
    def write(
        self, inputs: Sequence[str | PathLike[str]], output: str | PathLike[str]
    ) -> tuple[int, int, list[TcpwhyError]]: ...

@final
class Batch:
    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any | None = None) -> tuple[Any, Any]: ...

@final
class Rows:
    def __new__(cls, table_name: str, batches: Sequence[Batch]) -> Rows: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any | None = None) -> Any: ...

@final
class Feed:
    def __new__(cls, table_name: str) -> Feed: ...
    def put(self, batch: Batch) -> bool: ...
    def end(self) -> None: ...
    def abandon(self) -> None: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any | None = None) -> Any: ...

@final
class Stream(Iterator[tuple[str, Batch]]):
    def __iter__(self) -> Stream: ...
    def __next__(self) -> tuple[str, Batch]: ...
    def progress(self) -> tuple[int, int | None, int]: ...
    def dropped(self) -> tuple[int, int]: ...
    def standing(self) -> tuple[int, list[tuple[str, int]]]: ...
    def stop(self) -> None: ...

def analyze(
    inputs: Sequence[str | PathLike[str]],
    *,
    tables: Sequence[str],
    interval_ns: int | None = None,
    timeouts_ns: tuple[int | None, int | None, int | None] = ...,
    min_packets: int | None = None,
    filter: str | None = None,
    flow: str | None = None,
    frame: int | None = None,
    workers: int | None = None,
    compat_seed: bool = False,
    pace: float | None = None,
    max_flows: int | None = None,
) -> Stream: ...
def monitor(
    interfaces: Sequence[str],
    *,
    tables: Sequence[str],
    interval_ns: int | None = None,
    timeouts_ns: tuple[int | None, int | None, int | None] = ...,
    min_packets: int | None = None,
    filter: str | None = None,
    flow: str | None = None,
    workers: int | None = None,
    compat_seed: bool = False,
    fanout: str = "hash",
    snaplen: int | None = None,
    promiscuous: bool = True,
    ring_bytes: int | None = None,
    max_flows: int | None = None,
    hardware_times: bool = False,
    drop_privileges: bool = False,
) -> Stream: ...

@final
class Simulation(Iterator[tuple[str, Batch]]):
    def __iter__(self) -> Simulation: ...
    def __next__(self) -> tuple[str, Batch]: ...
    def progress(self) -> tuple[int, int]: ...
    def stop(self) -> None: ...
    def captures(self) -> list[tuple[str, str]]: ...

def simulate(
    scenario: str | PathLike[str],
    *,
    tables: Sequence[str],
    seed: int | None = None,
    duration_ns: int | None = None,
    captures: str | PathLike[str] | None = None,
    payload: bool = False,
    sample_ns: int | None = None,
    tap: str | None = None,
) -> Simulation: ...
def sweep(cases: Sequence[dict[str, Any]], *, workers: int | None = None) -> Simulation: ...
def world_version() -> int: ...
def world_scenario(seed: int) -> str: ...
def judge(
    file: str, scenario: str, *, taps: Sequence[str] | None = None
) -> list[tuple[str, str, Batch]]: ...
def tables_by_maker() -> list[tuple[str, list[str]]]: ...
def counters() -> list[tuple[str, str]]: ...
def schemas() -> list[tuple[str, list[tuple[str, str, bool, str]]]]: ...
def limits() -> dict[str, list[dict[str, Any]]]: ...
def thresholds() -> list[tuple[str, float]]: ...

@final
class Emulation:
    def delivered(self) -> int: ...
    def stop(self) -> dict[str, Any] | None: ...

def emulate(
    scenario: str | PathLike[str],
    *,
    taps: Sequence[int],
    offload: bool = False,
    seed: int | None = None,
    middle: str | PathLike[str] | None = None,
) -> Emulation: ...
def scenario_names(scenario: str | PathLike[str]) -> dict[str, Any]: ...

_Parameter = tuple[str, str, str, float | None, str | None, list[str]]

@final
class Column:
    def __len__(self) -> int: ...
    def to_bytes(self) -> bytes: ...
    def to_list(self) -> list[float | None]: ...
    def __arrow_c_array__(self, requested_schema: Any | None = None) -> tuple[Any, Any]: ...

def models() -> list[tuple[str, str, str, str, list[str], list[_Parameter]]]: ...
def predict(name: str, values: Sequence[Any]) -> Column: ...
def predict_one(
    name: str, values: Sequence[float]
) -> tuple[float | None, str | None, str | None, list[tuple[str, float]]]: ...
def solve(name: str, parameter: str, rate_bps: float, values: Sequence[float]) -> float: ...
