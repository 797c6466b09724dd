"""Prints every file below the directories that are given: kind, mode, owner, size, time of change of its content, and a hash of it.

A directory with a slash at its end is not printed itself.
"""

import hashlib
import os
import stat
import sys


def describe(path):
    status = os.lstat(path)
    content = "-"
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            content = hashlib.sha256(file.read()).hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    owner = f"{status.st_uid}:{status.st_gid}"
    return f"{path}\t{stat.filemode(status.st_mode)}\t{owner}\t{status.st_size}\t{status.st_mtime_ns}\t{content}"


def walk(top):
    if not top.endswith("/"):
        yield top
    for directory, names, files in os.walk(top):
        yield from (os.path.join(directory, name) for name in names + files)


for top in sys.argv[1:]:
    for path in sorted(walk(top)):
        print(describe(path))
