"""Settings for all tests."""

import os

from hypothesis import settings

# No deadline: the first example may compile kernels, and shared machines stall. A gate for changes
# must give the same answer twice, so it takes the same examples; developers' runs take new ones.
settings.register_profile("torqued", deadline=None, max_examples=40)
settings.register_profile("gate", deadline=None, derandomize=True)
settings.load_profile("gate" if os.environ.get("CI") else "torqued")
