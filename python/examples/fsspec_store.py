#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A generation of a store, read through a file system of fsspec: gcsfs, adlfs, sshfs ...

    fsspec_store.py gcs://bucket/feats /nvme/copies
"""

import sys
from typing import Any, Iterator, Tuple

import lmdbcache


class Files:
    """A directory of a file system, as lmdbcache.Store wants it."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.files, self.root = fsspec.core.url_to_fs(url)

    def path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def get_range(self, name: str, offset: int, size: int) -> Tuple[bytes, int]:
        whole = self.files.info(self.path(name))["size"]
        end = min(offset + size, whole)
        return self.files.cat_file(self.path(name), offset, end) if offset < end else b"", whole

    def list(self, prefix: str) -> Iterator[Tuple[str, int]]:
        self.files.invalidate_cache()
        folder = self.path(prefix).rpartition("/")[0]
        for path, about in self.files.find(folder, detail=True).items():
            name = path[len(self.root.rstrip("/")) + 1 :]
            if name.startswith(prefix):
                yield name, about["size"]

    def put_new(self, name: str, data: bytes) -> bool:
        # Few file systems of fsspec can put an object only if there is none.
        raise NotImplementedError("this example only reads")

    put = put_new

    def delete(self, name: str) -> None:
        raise NotImplementedError("this example only reads")


def main(url: str, cache: str, **options: Any) -> None:
    store = lmdbcache.Store(Files(url), url)
    with lmdbcache.reader(store, cache=cache, cache_size="16G", **options) as batches:
        rows = sum(batch.filled for batch in batches)
        print(f"{rows} rows, {batches.fetch_stats()['fetched']} objects fetched")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(*sys.argv[1:])
    else:
        print(__doc__)
