"""Long work in a separate process: batches and the loading of robots.

worker.py       the daemon's side: a queue of jobs, and what happens when the process dies
launch.py       starts the process
memories.py     memory that clients share for their batches
channel.py      messages between the two
process.py      the process: lower priority than the loop, ends with the daemon
serving.py      its threads: each runs one job after the other
source.py       where a robot comes from, to load it again
model_bytes.py  a loaded robot as bytes, from one process to the other
"""
