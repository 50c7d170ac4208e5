"""The daemon: sockets, access, requests, sessions on a compiled loop, the worker."""
