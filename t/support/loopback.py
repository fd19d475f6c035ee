# SPDX-License-Identifier: BSD-2-Clause
"""What the servers for tests share: a port, options that may change, a log, an end."""
import argparse
import os
import shlex
import signal
import sys
import threading
import time

PIECE = 1 << 18  # bytes that are read at once


def parser(about):
    made = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter,
                                   description=about)
    add = made.add_argument
    add("--port", type=int, default=0, help="0: chosen by the system")
    add("--ready", metavar="FILE", help="gets the port when the server answers")
    add("--control", metavar="FILE", help="further options, read again when it changes")
    add("--log", metavar="FILE")
    add("--stay", action="store_true", help="outlive the process that started it")
    return made


class Options:
    """Those of the command line, and after them those of the control file."""

    def __init__(self, made):
        self.parser, self.state, self.lock = made, None, threading.Lock()
        self.now = made.parse_args()

    def current(self):
        """The options; another object whenever the control file has changed."""
        with self.lock:
            try:
                about = os.stat(self.now.control) if self.now.control else None
            except FileNotFoundError:
                about = None
            state = about and (about.st_ino, about.st_mtime_ns, about.st_size)
            if state != self.state:
                more = []
                if about:
                    with open(self.now.control, encoding="utf-8") as file:
                        more = shlex.split(file.read())
                self.now = self.parser.parse_args(sys.argv[1:] + more)
                self.state = state
            return self.now


def log(options, *words):
    """Append a line to the log, in one write."""
    if options.log:
        file = os.open(options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(file, (" ".join(words) + "\n").encode())
        os.close(file)


def serve(port, options, run):
    """Say which port it is, and run until this process or its parent is ended."""
    parent = os.getppid()

    def watch():
        while options.stay or os.getppid() == parent:
            time.sleep(0.2)
        os._exit(0)

    for number in signal.SIGTERM, signal.SIGINT:
        signal.signal(number, lambda *_: os._exit(0))
    print(port, flush=True)
    if options.ready:
        with open(options.ready + ".new", "w", encoding="utf-8") as file:
            file.write(f"{port}\n")
        os.rename(options.ready + ".new", options.ready)
    threading.Thread(target=watch, daemon=True).start()
    run()
