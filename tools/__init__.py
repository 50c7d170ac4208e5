"""What runs beside a daemon: command line, recorder, viewers, tables of states, demos."""
