"""What a session can be ordered to do, beside what its states say."""

from __future__ import annotations

HOLD = 1  # come to rest, and stay there whatever references states bring
MOVE = 2  # to what is ordered, within a time
REFERENCES = 3  # follow what is ordered
RESUME = 4  # leave the fallback and orders: hold the present state, then follow states' references
