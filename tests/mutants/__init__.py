"""``make mutants``: small faults, put into the code one at a time, that tests have to find.

The faults are data in the ``.toml`` files here, one file an area; ``mutant`` says what an entry is, ``run`` tries them.
``tests/unit/test_mutants.py`` holds every entry to the code as it is.
"""
