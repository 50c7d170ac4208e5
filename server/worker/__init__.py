"""Long work in a process of its own: batches and the loading of robots.

worker.py     the daemon's side: a queue of jobs, one process, what happens when it dies
channel.py    messages between the two
process.py    the process: stands back from the loop, ends with the daemon
serving.py    its work: one job after the other
source.py     where a robot comes from, to load it anew
models.py     a loaded robot as bytes, from one process to the other
"""
