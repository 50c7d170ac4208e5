"""Pictures of `torqued plot`."""

from pathlib import Path

from matplotlib.figure import Figure

from support.written_sessions import NO_LOOP, ROBOT, session, ticks
from torqued.common.status import CLAMPED, FALLBACK, STALE
from torqued.tools.recording.drawing import draw
from torqued.tools.recording.recording import RecordedSession, Recording
from torqued.tools.recording.status_colors import ALARM, NOTICE


def test_status_bits_have_the_colours_of_the_page(tmp_path, monkeypatch):
    """A fallback looks like the fault that it is."""
    info = session()
    rows = ticks(info, [0.0, 0.1, 0.2], [CLAMPED, STALE | FALLBACK, FALLBACK])
    recorded = RecordedSession(info, rows)
    recording = Recording(
        Path("x"), {"robot": ROBOT | {"name": "r"}}, "", {7: recorded}, NO_LOOP, {}
    )
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    draw(recorded, recording, ["tau"], tmp_path / "x.png", strict=True)
    below = figures[0].axes[-1]
    marks = zip(below.texts, below.lines, strict=True)
    found = {text.get_text(): line.get_color() for text, line in marks}
    assert found == {"STALE": ALARM, "CLAMPED": NOTICE, "FALLBACK": ALARM}
