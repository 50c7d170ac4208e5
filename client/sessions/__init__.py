"""Sessions with the daemon's loop: frames, transports, telemetry."""
