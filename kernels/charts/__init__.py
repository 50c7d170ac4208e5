"""Charts: the robot's coordinates in other layouts and parameterizations.

A chart maps the user's (q̄, v̄, ā) to the native ones: ν = A v̄ and ν̇ = A ā + Ȧ v̄ ([EW21] section
3.3). `chart.py` says what a chart is, `jointwise.py` builds one joint by joint, the other files
hold the charts, and `registry.py` their names. docs/COORDINATES.md says which one to use when.
"""

from torqued.kernels.charts.chart import Chart
from torqued.kernels.charts.redundant import RedundantBase
from torqued.kernels.charts.registry import CHARTS, Coordinates, chart_of
from torqued.kernels.charts.user import Custom

__all__ = ["CHARTS", "Chart", "Coordinates", "Custom", "RedundantBase", "chart_of"]
