"""Draw the picture of the README, docs/pictures/graph.png; Pillow makes it small where it is there.

python tools/readme_picture.py
"""

import io
from pathlib import Path

from tcpwhy.graph import draw

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "scenarios" / "two_network_then_reader.toml"
TARGET = ROOT / "docs" / "pictures" / "graph.png"

COLOURS = 64
"""Of the palette: smoothed edges have hardly more."""


def main() -> None:
    picture = draw(SCENARIO).png(width=900, height=440, scale=2)
    try:
        from PIL import Image
    except ImportError:
        TARGET.write_bytes(picture)
        return
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
