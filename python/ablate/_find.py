"""Prints an interpreter and its library, or, behind a !, what it lacks: ``PYTHON -I -S - <_find.py``. The library's folder
differs between distributions and package managers; a relocated Python still names the folder in which it was built.

Runs on Pythons that are too old, too.
"""

import os
import sys
import sysconfig

ANOTHER = "by ABLATE_PYTHON=/path/to/python3"


def found():
    # type: () -> str
    if sys.version_info < (3, 9):
        return "!Python 3.9 or newer, and %s is %s; name another %s" % (sys.executable, sys.version.split()[0], ANOTHER)
    name = "libpython%d.%d%s.so" % (*sys.version_info[:2], getattr(sys, "abiflags", ""))
    places = [sysconfig.get_config_var("LIBDIR") or "", sys.base_prefix + "/lib", sys.base_exec_prefix + "/lib"]
    multiarch = sysconfig.get_config_var("MULTIARCH")
    places += [place + "/" + multiarch for place in places if multiarch]
    for file in [os.path.join(place, name + end) for place in places for end in (".1.0", "")]:
        if os.path.exists(file):
            return sys.executable + "\n" + file
    return (
        "!Python's library, and %s has no %s; install it (Debian: apt install libpython3-dev), or name a Python with "
        "this library, such as conda's or uv's, %s" % (sys.executable, name, ANOTHER)
    )


if __name__ == "__main__":
    sys.stdout.write(found())
