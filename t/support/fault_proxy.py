#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A proxy before an HTTP server that does to requests and answers what networks do.

    fault_proxy.py --to PORT --ready FILE [--fault 'NAME [FIELD=VALUE ...]' ...]
    fault_proxy.py --to PORT --ready FILE --random 0.2 --seed 7 [--choose NAME,...]

It listens on loopback, prints its port and writes it to FILE, and ends when the process that
started it ends, unless --stay is given. A --fault is done to the requests that its fields
select; the first one of several that does counts:

    method=GET    of this method
    key=REGEX     whose target, with the query, has a match
    skip=N        but not to the first N of them
    every=N       to each N-th one of the rest
    times=N       and N times at most (default 1; 0 is no limit)
    value=X       ms, bytes: what the fault takes

--random P does one of the faults that go with a request, or of those in --choose, to each with
probability P, --limit N times at most. --control FILE holds further options, read again whenever
the file changes; counts begin anew then. --log FILE gets a line for each request that gets a
fault, before that: NAME METHOD TARGET RANGE; and TRAP for a connection to the host that
`redirect` names.
"""
import random
import re
import socket
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
import loopback

# What each fault does, and which requests it goes with: all, those with an answer's body, those
# for bytes of an object, those for a range of it, those with a body of their own.
FAULTS = {
    "cut": ("all", "close before the request reaches the server"),
    "reset": ("all", "the same by a reset"),
    "cut-request": ("sends", "close in the middle of the request's body; so the server sees it"),
    "flip-request": ("sends", "one bit of the request's body is another one"),
    "stall-request": ("sends", "half of the request's body, then nothing (value ms, 60000, or "
                      "until the client goes), then close"),
    "lost": ("all", "the server does it, and the answer is lost"),
    "late-500": ("all", "the server does it, and the answer is 500"),
    "cut-header": ("all", "close in the middle of the answer's header"),
    "cut-body": ("body", "close in the middle of the answer's body"),
    "delay": ("all", "wait before the answer (value ms, 100)"),
    "500": ("all", "InternalError"),
    "503": ("all", "ServiceUnavailable, with Retry-After: 0"),
    "slow-down": ("all", "503 SlowDown"),
    "429": ("all", "TooManyRequests"),
    "502-html": ("all", "a page of a proxy"),
    "wrong-range": ("object", "the bytes of another offset, with the right headers"),
    "wrong-content-range": ("range", "Content-Range is that of another range"),
    "flip": ("object", "one bit of the body is another one"),
    "short": ("object", "a body without its end, and a Content-Length that fits"),
    "long": ("object", "a body with bytes at its end, and a Content-Length that fits"),
    "extra": ("body", "bytes after the body"),
    "no-length-cut": ("object", "no Content-Length, and close in the middle of the body"),
    "drip": ("body", "the body in ten pieces (value ms in all, 300)"),
    "stall": ("body", "half of the body, then nothing (value ms, 60000), then close"),
    "bad-status": ("all", "no status line"),
    "bad-length": ("all", "a Content-Length that is no number"),
    "huge-header": ("all", "a header of value bytes (1 MiB)"),
    "redirect": ("all", "307 to another host"),
    "down": ("all", "all connections are reset (for value ms, 200)"),
}
# Those whose answer is made here: status, code.
ERRORS = {"500": (500, "InternalError"), "503": (503, "ServiceUnavailable"),
          "slow-down": (503, "SlowDown"), "429": (429, "TooManyRequests"),
          "late-500": (500, "InternalError")}


def options():
    parser = loopback.parser(__doc__)
    parser.epilog = "faults:\n" + "\n".join(f"  {name:20} {about}"
                                            for name, (_, about) in FAULTS.items())
    add = parser.add_argument
    add("--to", required=True, type=int, metavar="PORT", help="the server's port on loopback")
    add("--fault", action="append", default=[], type=rule, metavar="'NAME [FIELD=VALUE ...]'")
    add("--random", type=float, default=0, metavar="P")
    add("--seed", type=int, default=1)
    add("--choose", default=",".join(name for name in FAULTS if "stall" not in name))
    add("--limit", type=int, default=0, metavar="N", help="random faults; 0 is no limit")
    return parser


def rule(text):
    name, *fields = text.split()
    made = {"name": name, "method": "", "key": "", "skip": 0, "every": 1, "times": 1, "value": None,
            "seen": 0, "done": 0}
    for field in fields:
        key, _, value = field.partition("=")
        if key not in made:
            raise ValueError(field)
        made[key] = int(value) if key in ("skip", "every", "times", "value") else value
    if name not in FAULTS:
        raise ValueError(name)
    return made


class Done(Exception):
    """The connection is at its end."""


class Plan:
    """Which fault a request gets."""

    def __init__(self, opts):
        self.options, self.lock, self.now = opts, threading.Lock(), None
        self.down_until = 0  # by time.monotonic()

    def refresh(self):
        now = self.options.current()
        if now is not self.now:
            self.now, self.chance, self.random_done = now, random.Random(now.seed), 0
            self.down_until = 0

    def is_down(self):
        with self.lock:
            self.refresh()
            return time.monotonic() < self.down_until

    def choose(self, message):
        """A fault's name and value, or None."""
        with self.lock:
            self.refresh()
            for fault in self.now.fault:
                if (fault["method"] not in ("", message.method) or
                        not re.search(fault["key"], message.target) or
                        not message.goes_with(fault["name"])):
                    continue
                fault["seen"] += 1
                after = fault["seen"] - fault["skip"]
                if (after <= 0 or (after - 1) % fault["every"] or
                        0 < fault["times"] <= fault["done"]):
                    continue
                fault["done"] += 1
                return self.log(fault["name"], message), fault["value"]
            if (self.chance.random() < self.now.random and
                    not 0 < self.now.limit <= self.random_done):
                names = [name for name in self.now.choose.split(",")
                         if message.goes_with(name)]
                # As many for this kind of request as of those for any.
                special = [name for name in names if FAULTS[name][0] != "all"]
                if special and self.chance.random() < 0.5:
                    names = special
                if names:
                    self.random_done += 1
                    return self.log(self.chance.choice(names), message), None
        return None, None

    def log(self, name, message):
        loopback.log(self.now, name, message.method, message.target,
                     message.headers.get("range", "-"))
        return name


class Message:
    """The header of a request or an answer: its first line and its fields."""

    def __init__(self, file):
        line = file.readline(1 << 16)
        if not line.endswith(b"\n"):
            raise Done
        self.first = line.decode("latin-1").rstrip("\r\n")
        self.lines, self.headers = [], {}
        while (line := file.readline(1 << 16)) not in (b"\r\n", b"\n"):
            if not line.endswith(b"\n"):
                raise Done
            text = line.decode("latin-1").rstrip("\r\n")
            name, _, value = text.partition(":")
            self.lines.append(text)
            self.headers[name.lower()] = value.strip()
        self.length = int(self.headers.get("content-length", "0"))

    def set(self, name, value):
        """Change a field, or with None remove it."""
        self.lines = [line for line in self.lines
                      if line.partition(":")[0].lower() != name.lower()]
        if value is not None:
            self.lines.append(f"{name}: {value}")

    def encoded(self):
        return "\r\n".join([self.first, *self.lines, "", ""]).encode("latin-1")


class Asked(Message):
    def __init__(self, file):
        super().__init__(file)
        self.method, self.target, _ = (self.first + "  ").split(" ", 2)

    def goes_with(self, name):
        kind = FAULTS[name][0]
        query = self.target.partition("?")[2]
        reads = self.method == "GET" and "list-type" not in query and "uploads" not in query
        return {"all": True, "body": self.method == "GET", "object": reads,
                "range": reads and "range" in self.headers,
                "sends": self.length > 0}[kind]


def pieces(file, length):
    while length > 0:
        piece = file.read1(min(length, loopback.PIECE))
        if not piece:
            raise Done
        length -= len(piece)
        yield piece


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def refusal(status, code):
    body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code>'
            f"<Message>a fault of the proxy</Message></Error>").encode()
    return (f"HTTP/1.1 {status} {code}\r\nContent-Type: application/xml\r\nRetry-After: 0\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode(), body


class Connection:
    """A client's connection, and one to the server that belongs to it."""

    def __init__(self, proxy, client):
        self.proxy, self.client, self.server = proxy, client, None
        self.requests = client.makefile("rb", loopback.PIECE)
        self.answers = None

    def run(self):
        try:
            while True:
                self.exchange()
        except (Done, OSError, ValueError):
            pass
        finally:
            self.drop()
            for end in (self.requests, self.client):
                try:
                    end.close()
                except OSError:
                    pass

    def drop(self):
        if self.server is not None:
            self.answers.close()
            self.server.close()
            self.server = None

    def connect(self):
        if self.server is None:
            self.server = socket.create_connection(("127.0.0.1", self.proxy.plan.options.now.to))
            self.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.answers = self.server.makefile("rb", loopback.PIECE)

    def send(self, *parts):
        for part in parts:
            self.client.sendall(part)

    def pause(self, value, default):
        time.sleep((default if value is None else value) / 1000)

    def body_of(self, request):
        """The request's body, in pieces."""
        if request.headers.get("expect", "").lower() == "100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return pieces(self.requests, request.length)

    def exchange(self):
        request = Asked(self.requests)
        fault, value = self.proxy.plan.choose(request)
        if fault == "down":
            self.proxy.plan.down_until = time.monotonic() + (
                200 if value is None else value) / 1000
        if fault in ("reset", "down"):
            reset(self.client)
            raise Done
        if fault == "cut":
            raise Done
        if not self.made_here(fault, value, request):
            self.forward(fault, value, request)
            answer = Message(self.answers)
            self.answer(fault, value, request, answer)
            if answer.headers.get("connection", "").lower() == "close":
                raise Done

    def made_here(self, fault, value, request):
        """Answer without the server, if the fault is such a one."""
        if fault not in ("500", "503", "slow-down", "429", "502-html", "bad-status",
                         "bad-length", "huge-header", "redirect"):
            return False
        for _ in self.body_of(request):
            pass
        if fault in ERRORS:
            header, body = refusal(*ERRORS[fault])
        elif fault == "502-html":
            body = b"<html><head><title>502 Bad Gateway</title></head>\x1b[2J<br></html>"
            header = (f"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n"
                      f"Content-Length: {len(body)}\r\n\r\n").encode()
        elif fault == "bad-status":
            header, body = b"\x16\x03\x01 nothing of HTTP\r\n\r\n", b""
        elif fault == "bad-length":
            header, body = b"HTTP/1.1 200 OK\r\nContent-Length: -7x\r\n\r\n", b""
        elif fault == "huge-header":
            line = b"x-amz-meta-%04d: " + b"x" * 1000 + b"\r\n"
            count = (1 << 20 if value is None else value) // 1000
            header = (b"HTTP/1.1 200 OK\r\n" + b"".join(line % (i % 10000)
                                                       for i in range(count)) +
                      b"Content-Length: 0\r\n\r\n")
            body = b""
        else:
            header, body = (f"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\n"
                            f"Location: http://127.0.0.1:{self.proxy.trap_port}"
                            f"{request.target}\r\n\r\n").encode(), b""
        self.send(header, body if request.method != "HEAD" else b"")
        if fault in ("bad-status", "bad-length", "huge-header"):
            raise Done
        return True

    def forward(self, fault, value, request):
        """Send the request to the server."""
        self.connect()
        body = self.body_of(request)
        request.set("Expect", None)
        self.server.sendall(request.encoded())
        if fault in ("cut-request", "stall-request"):
            data = b"".join(body)
            self.server.sendall(data[:len(data) // 2])
            if fault == "stall-request":
                self.client.settimeout((60000 if value is None else value) / 1000)
                self.client.recv(1)
            raise Done
        if fault == "flip-request":
            data = bytearray(b"".join(body))
            data[len(data) // 3] ^= 4
            body = [bytes(data)]
        for piece in body:
            self.server.sendall(piece)

    def answer(self, fault, value, request, answer):
        """Pass the server's answer on, with the fault."""
        status = answer.first.split(" ")[1]
        length = 0 if request.method == "HEAD" or status in ("204", "304") else answer.length
        body = pieces(self.answers, length)
        if fault == "delay":
            self.pause(value, 100)
        if fault in (None, "delay", "flip-request") or (
                status not in ("200", "206") and
                FAULTS[fault][0] in ("object", "range", "body")):
            self.send(answer.encoded())
            for piece in body:
                self.send(piece)
            return
        data = b"".join(body)
        header = answer.encoded()
        if fault == "lost":
            raise Done
        if fault == "late-500":
            header, data = refusal(*ERRORS[fault])
            self.send(header, data if request.method != "HEAD" else b"")
            return
        if fault == "cut-header":
            self.send(header[:len(header) // 2])
            raise Done
        if fault in ("cut-body", "no-length-cut"):
            if fault == "no-length-cut":
                answer.set("Content-Length", None)
                answer.set("Connection", "close")
            self.send(answer.encoded(), data[:len(data) // 2])
            raise Done
        if fault == "stall":
            self.send(header, data[:len(data) // 2])
            self.pause(value, 60000)
            raise Done
        if fault == "drip":
            self.send(header)
            for i in range(10):
                self.pause(None if value is None else value / 10, 30)
                self.send(data[len(data) * i // 10:len(data) * (i + 1) // 10])
            return
        if fault == "wrong-content-range":
            first, last = re.findall("[0-9]+", answer.headers.get("content-range", "0 0"))[:2]
            answer.set("Content-Range", f"bytes {int(first) + 1}-{int(last) + 1}/"
                       + answer.headers.get("content-range", "").partition("/")[2])
        elif fault == "wrong-range":
            data = data[len(data) // 3 + 1:] + data[:len(data) // 3 + 1]
        elif fault == "flip":
            changed = bytearray(data)
            if changed:
                changed[len(data) * 2 // 3] ^= 16
            data = bytes(changed)
        elif fault == "short":
            data = data[:len(data) - len(data) // 3 - 1]
        elif fault == "long":
            data += b"and more"
        if fault in ("short", "long"):
            answer.set("Content-Length", len(data))
        self.send(answer.encoded(), data, b"HTTP/1.1 200 more\r\n" if fault == "extra" else b"")
        if fault == "extra":
            raise Done


class Proxy:
    def __init__(self, opts):
        self.plan = Plan(opts)
        self.listener = socket.create_server(("127.0.0.1", opts.now.port), backlog=256)
        self.trap = socket.create_server(("127.0.0.1", 0))
        self.port, self.trap_port = (end.getsockname()[1]
                                     for end in (self.listener, self.trap))

    def run(self):
        threading.Thread(target=self.watch_trap, daemon=True).start()
        while True:
            client, _ = self.listener.accept()
            if self.plan.is_down():
                reset(client)
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=Connection(self, client).run, daemon=True).start()

    def watch_trap(self):
        while True:
            client, _ = self.trap.accept()
            loopback.log(self.plan.options.now, "TRAP", "-", "-", "-")
            client.close()


def main():
    opts = loopback.Options(options())
    proxy = Proxy(opts)
    loopback.serve(proxy.port, opts.now, proxy.run)


if __name__ == "__main__":
    main()
