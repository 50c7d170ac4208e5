"""Long work in a process of its own: batches and the loading of robots.

worker.py     the daemon's side: a queue of jobs, what happens when the process dies
launch.py     the process as the daemon has it
memories.py   memory that clients share for their batches
channel.py    messages between the two
process.py    the process: of lower priority than the loop, ends with the daemon
serving.py    its work: in each thread one job after the other
source.py     where a robot comes from, to load it again
models.py     a loaded robot as bytes, from one process to the other
"""
