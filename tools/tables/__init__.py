"""`torqued batch`: an operation for all states of a file, chunk by chunk.

reading.py     tables of states: .npy, .npz, Parquet
plan.py        what is computed from what, and the folder that remembers which chunks are done
chunk.py       one chunk: read, compute, write; what every engine does
engines.py     all chunks, in threads of this process or on a Dask cluster
writing.py     the chunks as one file
"""
