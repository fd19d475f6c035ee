#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Types at a program on a terminal of its own: typist.py COMMAND... <STEPS

A step is a line:
    see TEXT          read until TEXT was shown, after what earlier steps saw
    type TEXT         type it
    run COMMAND       of the shell sh, to its end
    signal NAME       the program gets a signal, TERM
    size COLUMNS ROWS the terminal has another size
    end STATUS        the program ends with this exit status
    unseen TEXT       TEXT was not shown since the step before the last "see"
    cooked            the terminal echoes and waits for whole lines

TEXT has the escapes of Python (\\r, \\t, \\x03). Nothing here depends on time: a step waits for
what it names; after half a minute that is a failure. Exit status 0 or 1, with what was
shown.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 30.0


def text_of(step):
    return step.encode().decode("unicode_escape").encode("latin-1")


class Typist:
    def __init__(self, command):
        self.master, slave = pty.openpty()
        self.resize(80, 24)
        self.slave = slave
        self.shown = b""
        self.at = self.before = 0
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.close(self.master)
            os.closerange(3, 64)
            os.execvp(command[0], command)

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, until):
        left = until - time.monotonic()
        if left <= 0 or not select.select([self.master], [], [], left)[0]:
            raise AssertionError("it is not shown")
        self.shown += os.read(self.master, 65536)

    def see(self, text):
        self.before = self.at
        until = time.monotonic() + PATIENCE
        while True:
            found = self.shown.find(text, self.at)
            if found >= 0:
                self.at = found + len(text)
                return
            self.read(until)

    def step(self, word, rest):
        if word == "see":
            self.see(text_of(rest))
        elif word == "type":
            os.write(self.master, text_of(rest))
        elif word == "size":
            self.resize(*map(int, rest.split()))
            os.kill(self.pid, signal.SIGWINCH)
        elif word == "run":
            subprocess.run(["sh", "-c", rest], stdin=subprocess.DEVNULL, check=True)
        elif word == "signal":
            os.kill(self.pid, getattr(signal, "SIG" + rest))
        elif word == "unseen":
            assert text_of(rest) not in self.shown[self.before:self.at], "it is shown"
        elif word == "cooked":
            flags = termios.tcgetattr(self.slave)[3]
            assert flags & termios.ECHO and flags & termios.ICANON and flags & termios.ISIG
        elif word == "end":
            # Read until then: a program may wait for room to write.
            pid, until = 0, time.monotonic() + PATIENCE
            while pid == 0:
                assert time.monotonic() < until, "it does not end"
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if select.select([self.master], [], [], 0.01)[0]:
                    self.read(until)
            assert os.waitstatus_to_exitcode(status) == int(rest), status
        else:
            raise AssertionError("no such step")


def main():
    typist = Typist(sys.argv[1:])
    for number, line in enumerate(sys.stdin, 1):
        word, _, rest = line.rstrip("\n").partition(" ")
        if not word or word.startswith("#"):
            continue
        try:
            typist.step(word, rest)
        except AssertionError as error:
            print(f"step {number}: {word} {rest}: {error}")
            print("shown since then:", repr(typist.shown[typist.before:]))
            try:
                os.kill(typist.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            return 1
    return 0


sys.exit(main())
