# SPDX-License-Identifier: BSD-2-Clause
"""The published tests of torchcachex 0.2.0 on lmdbcache.compat.torchcachex, each with its
import of torchcachex changed and nothing else. TORCHCACHEX_TESTS is their directory."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec

TESTS = os.environ.get("TORCHCACHEX_TESTS", "")

# Of the 98: they look into the files that torchcachex writes.
FAILED = {
    "test_recovery.py::TestCrashRecovery::test_orphaned_segment_file",
    "test_recovery.py::TestDataIntegrity::test_atomic_flush",
    "test_recovery.py::TestDataIntegrity::test_index_segment_consistency",
}


@unittest.skipUnless(os.path.isdir(TESTS), "TORCHCACHEX_TESTS is not set")
@unittest.skipIf(find_spec("pytest") is None, "pytest is not installed")
@unittest.skipIf(find_spec("torch") is None, "torch is not installed")
class Published(unittest.TestCase):
    def test_suite(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            suite = shutil.copytree(TESTS, os.path.join(directory, "tests"))
            for name in os.listdir(suite):
                if name.endswith(".py"):
                    change_import(os.path.join(suite, name))
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", suite],
                cwd=suite,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, "TMPDIR": directory},
            )
        out = done.stdout.decode()
        failed = set(re.findall(r"^FAILED (\S+)", out, re.M))
        passed = re.search(r"^3 failed, (\d+) passed", out, re.M)
        self.assertEqual(failed, FAILED, out)
        self.assertGreaterEqual(int(passed[1]) if passed else 0, 94, out)


def change_import(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(
        r"from torchcachex(\.\w+)? import", "from lmdbcache.compat.torchcachex import", text
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    unittest.main()
