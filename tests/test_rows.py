"""How many files an operation, a quantity, a status bit or a frame's field is in: few, and as
CONTRIBUTING.md says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("client", "common", "kernels", "server", "tools")
GENERATED = ROOT / "client" / "cpp" / "torqued" / "tables.hpp"
PROTOCOL = ROOT / "docs" / "PROTOCOL.md"


def files_with(pattern):
    """Files of the product, and the protocol, in which a pattern is found."""
    sources = [
        path
        for room in ROOMS
        for ending in ("py", "hpp", "c", "h")
        for path in (ROOT / room).rglob(f"*.{ending}")
        if path != GENERATED
    ]
    found = [path for path in [*sources, PROTOCOL] if re.search(pattern, path.read_text())]
    return {str(path.relative_to(ROOT)) for path in found}


#: What CONTRIBUTING.md calls it → how an example of it is written wherever it is known.
EXAMPLES = {
    "an operation": r'"log_level",|def log_level\(|`log_level`',
    "a quantity": r'Quantity\("energy"|BIT\.energy|^\| energy \||\n\| energy \|',
    "a status bit": r"\bOSCILLATING\b",
    "a field of a frame's head": r'\("success_rate", "f64"|head\.success_rate|\| success_rate \|',
}


@pytest.mark.parametrize("what", EXAMPLES)
def test_files_are_those_that_contributing_counts_and_names(what):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    ((count, where),) = re.findall(rf"^\| {what} \((\d+) files\) \|(.*)\|$", text, re.M)
    found = files_with(EXAMPLES[what])
    assert len(found) == int(count), found
    for path in found - {"kernels/control/oscillation.py"}:  # "where it is set"
        assert Path(path).name in where, path
