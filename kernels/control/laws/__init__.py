"""Control laws that the servo runs, and streams of dynamics quantities.

One file per law: what it takes (references, gains) for Python, and its compiled torque. To add
one, write its file and name it in `table.py`.
"""

from torqued.kernels.control.laws.table import LAWS

__all__ = ["LAWS"]
