"""A daemon in a thread of the test's own process, for faults that only a changed program has."""

import threading

from support.daemons import MAX_START, MAX_STOP, is_complete
from support.eventually import PATIENCE, eventually
from torqued.client import Client
from torqued.server.daemon import Daemon
from torqued.server.loop.session import Safety
from torqued.server.transport.endpoints import Endpoints


class InThread:
    """Stops at the end of a `with` block; ready at its beginning."""

    def __init__(self, robot, folder, **safety):
        self.daemon = Daemon(robot, Endpoints(folder, "thread"), safety=Safety(**safety))
        self.endpoint = self.daemon.endpoints.request
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        self.daemon.prepare()
        self.daemon.run()

    def __enter__(self):
        with Client(self.endpoint, timeout=PATIENCE) as client:
            eventually(lambda: is_complete(client), MAX_START)
        return self

    def client(self):
        return Client(self.endpoint, timeout=PATIENCE)

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.daemon.stop()
        self.thread.join(MAX_STOP)
        assert not self.thread.is_alive()
