"""Print what an extra of pyproject.toml needs of others: pip installs it without a build.

usage: requirements.py EXTRA
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def requirements(extra: str) -> list[str]:
    """List what the package and one of its extras need, with the extras that it names."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for requirement in project["optional-dependencies"][extra]:
        own = re.fullmatch(re.escape(project["name"]) + r"\[(.*)\]", requirement)
        extras = own[1].split(",") if own else []
        wanted += [one for name in extras for one in requirements(name)] or [requirement]
    return list(dict.fromkeys(wanted))


if __name__ == "__main__":
    print(*requirements(sys.argv[1]))
