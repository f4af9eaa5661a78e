"""A message for an OpenEnv session has millions of empty objects, which the process that answers everybody would read.

Ten megabytes of them took 420 MB and half a second of everybody's time.
"""

from support.server_attacks import Target, frame, upgrade_request


def attack(target: Target) -> None:
    values = b"{}," * 3_000_000
    for start in (b'{"type":"step","data":{"response":"a","x":[', b'{"type":"reset","data":{"x":['):
        with target.connect() as peer:
            peer.sendall(upgrade_request())
            peer.sendall(frame(1, start + values + b"{}]}}"))
            peer.sendall(frame(1, b'{"type":"step","data":{"response":"abc"}}'))
            received = b""
            while b'"reward":3.0' not in received:
                more = peer.recv(65536)
                assert more, received
                received += more
            assert b"more than 200,000 values" in received
