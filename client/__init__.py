"""What a controller process installs: numpy, pyzmq and msgpack, and nothing of the daemon."""
