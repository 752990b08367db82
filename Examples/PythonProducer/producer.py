#!/usr/bin/env python3
"""Enqueues operations from Python with the standard library alone.

usage: producer.py SOCKET|HOST:PORT NAMESPACE QUEUE NAME JSON_ARGUMENTS [COUNT]

The enqueue script is read from the environment variable SLUICE_ENQUEUE_LUA (the output of `sluice redis script enqueue`),
user and password of Redis from SLUICE_REDIS_USER and SLUICE_REDIS_PASSWORD if they are set.
Prints the ids of the operations. docs/wire-format.md explains every byte.
"""
import json
import os
import secrets
import socket
import sys
import time

# See "Protocol number" in docs/wire-format.md.
PROTOCOL = "1"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


class Redis:
    """A client for the few parts of RESP2 that a producer needs."""

    def __init__(self, address):
        if ":" in address:
            host, port = address.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)), timeout=10)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(10)
            self.socket.connect(address)
        self.file = self.socket.makefile("rb")
        if "SLUICE_REDIS_PASSWORD" in os.environ:
            self.call("AUTH", os.environ.get("SLUICE_REDIS_USER", "default"), os.environ["SLUICE_REDIS_PASSWORD"])

    def call(self, *arguments):
        parts = [a if isinstance(a, bytes) else str(a).encode() for a in arguments]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        return self.reply()

    def reply(self):
        line = self.file.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return rest


def digits(number, width, alphabet=BASE36):
    text = ""
    while number:
        number, digit = divmod(number, len(alphabet))
        text = alphabet[digit] + text
    return text.rjust(width, alphabet[0])


def new_id():
    return digits(int(time.time() * 1000) << 80 | secrets.randbits(80), 26, CROCKFORD)


def front(tracked=True, lane=2, delay_ms=0, expires_ms=0):
    """Returns the beginning of the header, which operations with equal options share."""
    return "1" + ("1" if tracked else "0") + str(lane) + "0" + "000" + "01" + digits(delay_ms, 9) + digits(expires_ms, 9)


def operation(name, arguments):
    identifier = new_id()
    envelope = json.dumps({"name": name, "args": arguments}, separators=(",", ":"), ensure_ascii=False)
    return identifier, identifier.encode() + envelope.encode()


def main():
    if len(sys.argv) not in (6, 7):
        sys.exit(__doc__)
    address, namespace, queue, name, arguments = sys.argv[1:6]
    count = int(sys.argv[6]) if len(sys.argv) == 7 else 1
    redis = Redis(address)
    protocol = "{%s:queues}:protocol" % namespace
    redis.call("SET", protocol, PROTOCOL, "NX")
    found = redis.call("GET", protocol).decode()
    if found != PROTOCOL:
        sys.exit("namespace %s has protocol %s, and this program speaks %s: use another namespace" % (namespace, found, PROTOCOL))
    redis.call("SADD", namespace + ":queues", queue)
    script = redis.call("SCRIPT", "LOAD", os.environ["SLUICE_ENQUEUE_LUA"])
    producer, call = secrets.token_hex(8), 0
    made = [operation(name, json.loads(arguments)) for _ in range(count)]
    for start in range(0, count, 250):
        call += 1
        batch = [item for _, item in made[start:start + 250]]
        key = "{%s/%s}:meta" % (namespace, queue)
        redis.call("EVALSHA", script, 1, key, producer, call, call, front(), len(batch), *batch)
    print("\n".join(identifier for identifier, _ in made))


main()
