"""Judges the analysis by worlds in ns-3: another simulator, with a TCP of its own.

    python -m ns3_worlds report FIRST-LAST [WORKERS]   tables of what is right
    python -m ns3_worlds page [WORKERS]                the same for those that judge, in docs
    python -m ns3_worlds one SEED FOLDER               captures and record of one world

It needs a C++ compiler and ns-3's wheel (`make .venv/ns3`). Nothing is fitted or chosen on these
worlds; seeds below 1000 are there to be looked at. FIRST-LAST are seeds, the last excluded.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ns3_worlds import draw, judged, program, report

PAGE = Path(__file__).parents[2] / "docs/worlds.md"
BEGIN, END = "<!-- ns3_worlds -->", "<!-- end of ns3_worlds -->"


def main() -> None:
    """Do what is asked."""
    match sys.argv[1:]:
        case ["report", span, *workers]:
            print(_tables(range(*map(int, span.split("-"))), *workers))
        case ["page", *workers]:
            tables = _tables(draw.JUDGING, *workers)
            before, rest = PAGE.read_text("utf-8").split(BEGIN)
            _, after = rest.split(END)
            PAGE.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", "utf-8")
        case ["one", seed, folder]:
            judged.run(program.built(), int(seed), Path(folder))
        case _:
            sys.exit(__doc__)


def _tables(seeds: range, workers: str | None = None) -> str:
    return report.tables(program.built(), seeds, int(workers or os.cpu_count() or 1))


if __name__ == "__main__":
    main()
