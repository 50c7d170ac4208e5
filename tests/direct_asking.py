"""Clients that ask for batches again and again, ours and one by hand."""

import contextlib
import os
import select

import zmq
from eventually import PATIENCE

from torqued.client import codec
from torqued.client.shared_states import StatesFile


def gravity(client, q):
    return client.batch("dynamics", q=q, v=0.0 * q, want=["g"]).g


def made_direct(client, q):
    """Batches until the worker is asked itself."""
    for _ in range(3):
        gravity(client, q)


class Asked(list):
    """The operations that a client asks the daemon for from now on."""

    def __init__(self, client):
        ask = client._ask
        client._ask = lambda *args: self.append(args[0]) or ask(*args)

    @property
    def batches(self):
        return self.count("batch")


class ByHand:
    """A client that has written its pipes itself."""

    def __init__(self, daemon, q, mark=True):
        self.file, self.q = StatesFile(), q
        self.daemon, self.mark = daemon, mark
        self.context = zmq.Context()
        self.socket = self.connected()
        self.memory = True

    def connected(self):
        socket = self.context.socket(zmq.DEALER)
        socket.linger = 0
        socket.connect(self.daemon.endpoint)
        return socket

    def reconnect(self):
        self.socket.close()
        self.socket = self.connected()

    def ask(self, identity):
        """Through the daemon; the reply."""
        told = self.file.direct(self.file.place({"q": self.q}))
        if self.mark:
            self.file.write_late({"q": self.q}, identity)
        else:
            self.file.write({"q": self.q})
            del told["mark"]
        fields = {"operation": "dynamics", "want": ["g"], "memory": self.memory, "states": told}
        self.socket.send(codec.request(identity, "batch", fields))
        reply = self.reply()
        self.memory = reply["memory"]["file"]
        return reply

    def ask_directly(self, data):
        os.write(self.file.requests._writer, data)
        return self.raw_reply()

    def raw_reply(self):
        assert select.select([self.file.replies], [], [], PATIENCE)[0]
        return os.read(self.file.replies, select.PIPE_BUF)

    def reply(self):
        return codec.decode_reply(self.raw_reply())

    def is_let_go(self):
        """Whether nobody reads its requests; of a client that has closed that end itself."""
        poll = select.poll()
        poll.register(self.file.requests._writer, 0)
        return bool(poll.poll(0))

    def close(self):
        self.socket.close()
        self.context.term()
        self.file.close()


def fill(pipe):
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, bytes(select.PIPE_BUF))
