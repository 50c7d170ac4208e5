"""A daemon of tests that answers as it is told."""

import threading

import zmq

from torqued.client import codec
from torqued.client.endpoints import control_endpoint, request_endpoint


def good(message, **fields):
    return {"protocol": 1, "id": message["id"], "ok": True, **fields}


class Puppet:
    """A ROUTER socket that answers as told: `answer(message)` gives a list of replies.

    On its control socket it is ready, or not while `compiling` counts the pings down, and that is
    not counted among what it received.
    """

    def __init__(self, folder, answer):
        self.endpoint = request_endpoint("puppet", folder)
        self.received = []
        self.compiling = 0
        self._answer = answer
        self._done = threading.Event()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self._socket.router_handover = True  # as the daemon's: a client connects again
        self._socket.bind(self.endpoint)
        self._control = self._context.socket(zmq.ROUTER)
        self._control.linger = 0
        self._control.bind(control_endpoint(self.endpoint))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        while not self._done.is_set():
            if self._socket.poll(10):
                *route, data = self._socket.recv_multipart()
                message = codec.decode(data)
                self.received.append(message)
                for reply in self._answer(message):
                    self._socket.send_multipart([*route, codec.encode(reply)])
            while self._control.poll(0):
                *route, data = self._control.recv_multipart()
                kernels = {"kernel": "rnea", "done": 3, "total": 40}
                reply = good(codec.decode(data), ready=self.compiling <= 0, kernels=kernels)
                self.compiling -= 1
                self._control.send_multipart([*route, codec.encode(reply)])

    def close(self):
        self._done.set()
        self._thread.join()
        self._socket.close()
        self._control.close()
        self._context.term()

    @property
    def operations(self):
        return [message["op"] for message in self.received]
