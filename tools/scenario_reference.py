"""The reference of scenario files, from the declarations of the simulator's settings.

Every key is a field of a struct that reads it; its comment is what the page says. A field without a
comment, or a type that this file does not know, ends with an error: nothing goes undocumented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SIM = Path(__file__).resolve().parent.parent / "crates" / "sim" / "src"

_ITEM = re.compile(
    r"(?P<doc>(?:^///[^\n]*\n)*)(?:^#\[[^\n]*\]\n)*^pub (?P<kind>struct|enum) (?P<name>\w+) \{\n"
    r"(?P<body>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_FIELD = re.compile(
    r"(?P<doc>(?:^    ///.*\n)+)(?P<attributes>(?:^    #\[.*\]\n)*)"
    r"^    pub (?P<key>\w+): (?P<type>.+),$",
    re.MULTILINE,
)
_CHOICE = re.compile(r"(?P<doc>(?:^    ///.*\n)+)(?:^    #\[.*\]\n)*^    (?P<name>\w+)\b", re.M)
_ENTRY = re.compile(r'"(?P<name>\w+)", (?P<module>\w+)::(?P<type>\w+), "(?P<doc>[^"]*)";')
_NUMBER = re.compile(r'(?P<name>\w+), "(?P<expected>[^"]*)",')
_EXAMPLES = re.compile(r"EXAMPLES: &'static \[&'static str\] =\s*&\[(?P<list>.*?)\];", re.DOTALL)
_WORDS = {
    "String": "text",
    "bool": "`true` or `false`",
    "u64": "a whole number from 0",
    "usize": "a whole number from 0",
    "IpAddr": "an IP address",
    "Vec<f64>": "a list of numbers",
    "Vec<u64>": "a list of whole numbers",
    "Vec<Stripped>": "a list of `mss`, `window_scale`, `sack_permitted`, `timestamps`, `fast_open`",
    "Vec<Count>": "a list of whole numbers from 1",
    "Vec<String>": "a list of words",
    "Vec<(Seconds, Seconds)>": "a list of pairs of times in seconds",
    "Vec<(Seconds, Milliseconds)>": "a list of pairs: time in seconds, delay in milliseconds",
    "Vec<Spanned<String>>": "a list of names",
    "&'static Registration": "a controller",
    "Elements": "an element",
    "Queues": "a queue",
    "Workloads": "a workload",
    "Readers": "a reader",
    "UdpSources": "a source",
    "TcpSettings": "settings of TCP",
    "Vec<Elements>": "a list of elements",
    "Vec<Phase>": "a list of tables",
    "BTreeMap<String, Host>": "a table for each host",
    "BTreeMap<String, LinkPair>": "a table for each link",
}


class Field(NamedTuple):
    """A key of a table."""

    key: str
    type: str
    is_needed: bool
    doc: str


class Item(NamedTuple):
    """A struct or an enum."""

    doc: str
    fields: list[Field]
    choices: list[str]


def page() -> Iterator[str]:
    """Give the lines of the page."""
    scenario, tcp = _items("scenario/mod.rs"), _items("scenario/tcp.rs")
    enums = {**scenario, **tcp, **_items("link/jitter.rs"), **_items("link/queue/hosts.rs")}
    yield "# Scenario files"
    yield ""
    yield "A scenario is a TOML file. Times, sizes and rates have their unit in the name of the"
    yield "key. What is wrong in a file is refused with line, key and what is allowed. An element,"
    yield "queue, workload, reader or source is a table with one name in it:"
    yield "`delay = { delay_ms = 5 }`, or shorter `delay.delay_ms = 5`."
    yield ""
    for heading, name in _TABLES:
        yield from _section(f"## {heading}", (scenario | _items("scenario/expect.rs"))[name], enums)
    yield from _section("## Settings of TCP: `tcp`, `peer_tcp`", tcp["TcpSettings"], enums)
    for heading, folder in (
        ("Elements", "link"),
        ("Queues: `queue`", "link/queue"),
        ("Workloads: `workload`", "source"),
    ):
        yield from [f"## {heading}", ""]
        for entry in _ENTRY.finditer((SIM / folder / "mod.rs").read_text("utf-8")):
            path = f"{folder}/{entry['module']}.rs"
            items = _items(path)
            yield from _section(f"### `{entry['name']}`", items[entry["type"]], enums)
            if entry["name"] == "phases":
                yield from _section("### An entry of `phases.list`", items["Phase"], enums)
            yield from _examples(path, entry["name"])
    for heading, path, names in _SMALL:
        yield from [f"## {heading}", ""]
        for name, type in names.items():
            yield from _section(f"### `{name}`", _items(path)[type], enums)


_TABLES = (
    ("The file", "Scenario"),
    ("A host: `[hosts.NAME]`", "Host"),
    ("A link: `[links.NAME]`", "LinkPair"),
    ("A flow: `[[flows]]`", "FlowSettings"),
    ("A UDP source: `[[udp]]`", "UdpSettings"),
    ("A tap: `[[taps]]`", "TapSettings"),
    ("What is true: `[[expect]]`", "Expect"),
)
_SMALL = (
    (
        "Readers: `reader`",
        "source/reader.rs",
        {"greedy": "Greedy", "slow": "Slow", "pausing": "Pausing"},
    ),
    (
        "Sources: `source`",
        "source/udp.rs",
        {"constant": "Constant", "poisson": "Constant", "on_off": "OnOff", "sine": "Sine"},
    ),
)


def _section(heading: str, item: Item, enums: dict[str, Item]) -> Iterator[str]:
    yield from [heading, "", item.doc, ""]
    if not item.fields:
        return
    yield from ["| key | value | |", "|---|---|---|"]
    for field in item.fields:
        needed = ", needed" if field.is_needed else ""
        yield f"| `{field.key}` | {_value(field.type, enums)}{needed} | {field.doc} |"
    yield ""


def _value(type: str, enums: dict[str, Item]) -> str:
    while inner := re.fullmatch(r"(?:Option|Spanned)<(.+)>", type):
        type = inner[1]
    inner = re.fullmatch(r"Vec<(?:Spanned<)?(\w+)>*", type)
    if inner and inner[1] in [name for _, name in _TABLES]:
        return "tables"
    numbers = _numbers()
    if type in _WORDS:
        return _WORDS[type]
    if type in numbers:
        return numbers[type]
    if type in enums:
        return ", ".join(f"`{_snake(type, name)}`" for name in enums[type].choices)
    raise ValueError(f"no words for the type {type}: add it to {Path(__file__).name}")


def _snake(type: str, name: str) -> str:
    if type in ("Recovery", "Rules"):
        return name.lower()
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _numbers() -> dict[str, str]:
    text = (SIM / "parameter.rs").read_text("utf-8")
    text = text[text.index("numbers! {\n    ") :]
    return {number["name"]: number["expected"] for number in _NUMBER.finditer(text)}


def _items(path: str) -> dict[str, Item]:
    text = (SIM / path).read_text("utf-8")
    return {found["name"]: _item(found) for found in _ITEM.finditer(text)} | {
        name: Item(_plain(doc), [], [])
        for doc, name in re.findall(r"((?:^///.*\n)+)(?:^#.*\n)*^pub struct (\w+) \{\}", text, re.M)
    }


def _item(found: re.Match[str]) -> Item:
    if found["kind"] == "enum":
        choices = [choice["name"] for choice in _CHOICE.finditer(found["body"])]
        return Item(_plain(found["doc"]), [], choices)
    fields = [
        Field(
            field["key"],
            field["type"],
            "default" not in field["attributes"] and not field["type"].startswith("Option"),
            _plain(field["doc"]),
        )
        for field in _FIELD.finditer(found["body"])
    ]
    keys = re.findall(r"^    pub (\w+):", found["body"], re.M)
    if len(keys) != len(fields):
        missing = set(keys) - {field.key for field in fields}
        raise ValueError(f"{found['name']}: no comment at {', '.join(sorted(missing))}")
    # Where the whole struct has a default, no key is needed.
    if "TcpSettings" in found["name"]:
        fields = [field._replace(is_needed=False) for field in fields]
    return Item(_plain(found["doc"]), fields, [])


def _plain(doc: str) -> str:
    text = " ".join(line.strip().removeprefix("///").strip() for line in doc.splitlines())
    # Links to types of the program are words here.
    return re.sub(r"\[`([^`\]]+)`\]", r"`\1`", text).replace("|", "\\|").strip()


def _examples(path: str, name: str) -> Iterator[str]:
    found = _EXAMPLES.search((SIM / path).read_text("utf-8"))
    if not found:
        return
    yield "```toml"
    for number, text in enumerate(re.findall(r'"((?:[^"\\]|\\.)*)"', found["list"])):
        if number:
            yield ""
        yield f"[{name}]"
        text = re.sub(r"\\\n\s*", "", text).replace("\\n", "\n").replace('\\"', '"')
        yield from (line.strip() for line in text.splitlines() if line.strip())
    yield from ["```", ""]
