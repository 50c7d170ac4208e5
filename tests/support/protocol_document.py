"""Tables of docs/PROTOCOL.md."""

import re
from pathlib import Path

DOCUMENT = (Path(__file__).parents[2] / "docs" / "PROTOCOL.md").read_text()


def rows(text):
    """Cells of the body of the first Markdown table in a text, without code marks."""
    lines = re.findall(r"^\|(.*)\|$", text, re.MULTILINE)[2:]
    return [[cell.strip().strip("`") for cell in line.split("|")] for line in lines]


def marked(name):
    (text,) = re.findall(rf"<!-- {name}:.*?-->(.*?)<!-- end of {name} -->", DOCUMENT, re.DOTALL)
    return text
