"""Ctrl-C at any moment of a request: the client can be closed, and the program ends."""

import subprocess
import sys

#: Interrupts the first requests of a new client at each line of its code, and of ZeroMQ's, in turn.
PROGRAM = """
import sys
from torqued.client import Client, TimeoutError

def interrupted_at(count):
    left = count
    def trace(frame, event, argument):
        nonlocal left
        code = frame.f_code
        if code.co_name == "__del__":  # where Python ignores it
            return None
        if not any(part in code.co_filename for part in ("/client/", "/zmq/")):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace
    with Client(sys.argv[1], timeout=0.001, retries=1) as client:
        sys.settrace(trace)
        try:
            client.hello()  # over two connections, as nobody answers
        except TimeoutError:
            pass
        finally:
            sys.settrace(None)
    return left > 0  # there was no such line

for count in range(1, 10_000):
    try:
        if interrupted_at(count):
            break
    except KeyboardInterrupt:
        pass
print(count, end="")
"""


def test_client_that_was_interrupted_anywhere_can_be_closed(tmp_path):
    done = run(PROGRAM, f"ipc://{tmp_path}/nobody.sock")
    assert (done.returncode, done.stderr) == (0, "")
    assert 50 < int(done.stdout) < 10_000  # lines that were interrupted


def test_closing_a_client_closes_a_subscription_that_was_left_open(tmp_path):
    program = (
        "import sys; from torqued.client import Client; client = Client(sys.argv[1]);"
        "kept = client.telemetry(); client.close(); print(kept._socket.closed)"
    )
    done = run(program, f"ipc://{tmp_path}/nobody.sock")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True", "")


def run(program, endpoint):
    return subprocess.run(
        [sys.executable, "-c", program, endpoint],
        capture_output=True,
        text=True,
        timeout=600,
    )
