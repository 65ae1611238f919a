"""An --out that is an address: the command works in a copy, and what it leaves is sent there."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from gridsum.cli.parsing import UsageError


@contextmanager
def kept_at(options: argparse.Namespace) -> Iterator[None]:
    """Make `options.out` a folder for as long as this lasts.

    Sets `options.copy`, the copy of an address or None, and `options.place`, what a user calls the folder.
    """
    from gridsum.study.storage import copied, is_address

    options.copy, options.place = None, options.out
    if options.out is None or not is_address(options.out):
        yield
        return
    if options.on is None:
        raise UsageError(
            f"{options.out} is an address, where the machines of a cluster work; add --on, or name a folder"
        )
    with copied(options.out, "driver") as copy:
        options.copy, options.out = copy, str(copy.folder)
        try:
            yield
        finally:
            copy.send()
