"""`torqued metrics`: a daemon's counters for Prometheus, over HTTP."""

from __future__ import annotations

import argparse

from torqued.tools.cli.options import add_listen, add_observing, daemon_name, follow, host_and_port

HELP = "serve a daemon's counters to Prometheus, over HTTP"
EXAMPLE = "  torqued metrics --robot panda\n  torqued metrics --listen 0.0.0.0:9464"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_observing(parser)
    add_listen(parser, 9464)


def run(args: argparse.Namespace) -> int:
    import prometheus_client

    from torqued.client import Client
    from torqued.client.endpoints import request_endpoint
    from torqued.common.errors import InputError
    from torqued.tools.viewers.metrics import Metrics

    host, port = host_and_port(args.listen)
    name = daemon_name(args)
    endpoint = request_endpoint(name, args.folder)

    def stats() -> dict[str, object]:
        # A client belongs to one thread; each HTTP request runs in a new one.
        with Client(endpoint, timeout=2.0) as client:
            return client.stats().as_dict()

    stats()  # fails with a clear message if there is no daemon
    following = follow(args)
    metrics = Metrics(name, stats)
    registry = prometheus_client.CollectorRegistry()
    registry.register(metrics)
    try:
        server, _ = prometheus_client.start_http_server(port, host, registry)
    except OSError as error:
        raise InputError(f"--listen {args.listen}: {error.strerror}") from None
    following.stop_on_signals()
    print(f"metrics of {name}: http://{host}:{server.server_port}/metrics", flush=True)
    for batch in following.batches(is_watched=lambda: False):  # at most once a second
        metrics.add(batch)
    server.shutdown()
    server.server_close()
    return 0
