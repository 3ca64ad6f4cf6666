"""A container's program that leaves daemons behind: forked twice, sessions of their own, deaf to polite signals."""

from __future__ import annotations

PROGRAM = """
import os, signal, sys, time
folder, itself, children = sys.argv[1], sys.argv[2], sys.argv[3:]
def tell(name):
    with open(os.path.join(folder, "." + name), "w") as file:
        file.write(str(os.getpid()))
    os.rename(os.path.join(folder, "." + name), os.path.join(folder, name))
if itself == "stays":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for child in children:
    name, does = child.split("=")
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        tell(name)
        os.execve("/bin/sleep", ["sleep", "600"], {} if does == "clears" else dict(os.environ))
while not all(os.path.exists(os.path.join(folder, child.split("=")[0])) for child in children):
    time.sleep(0.02)
tell("itself")
if itself == "stays":
    time.sleep(600)
"""
"""``program.py FOLDER stays|goes NAME=keeps|clears …``: each writes its pid to FOLDER/NAME, the program to
FOLDER/itself.

``keeps`` and ``clears`` say what becomes of the environment; ``goes`` ends at once when all children run.
"""
