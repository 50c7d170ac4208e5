"""The `torqued` command: one module per command, `main.py` puts them together."""
