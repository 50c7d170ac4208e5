"""Durations in words."""


def about(seconds: float) -> str:
    """`about 40 s`: no more digits than an estimate has."""
    step = 1 if seconds < 10 else 5 if seconds < 60 else 10
    return f"about {max(1, step * round(seconds / step))} s"
