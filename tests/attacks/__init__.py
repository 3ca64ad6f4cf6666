"""``make attacks``: what an unprivileged user, an anonymous caller or a web page could try, beside those who work.

    python -m tests.attacks                       against a yodel local of its own
    python -m tests.attacks http_floods numbers   some areas, or area/name
    python -m tests.attacks --ready FILE          against a cluster that runs: a file like yodel local's ready.json
    python -m tests.attacks --rig                 against the real Kubernetes of ``make cluster``

An attack is a coroutine function with ``@attack`` in a module of its area, listed in ``areas``.  It gets a ``Target``,
does what the attacker does, and returns what ``held``, or raises ``Works`` with what he got.  In a process of their own
neighbours go on meanwhile (``neighbours``): an ApplicationMaster that beats, a reader, a submitter, probes of both web
ports.  The run fails where an attack worked or a neighbour got an error or waited too long.
"""
