"""``make mutants``: small faults, put into the code one at a time, that tests have to find.

mutmut makes those of the lines that have changed since a commit: ``changed`` chooses lines and tests, and ``tool``
runs in a copy of the checkout.  Faults that mutmut does not make are data in the ``.toml`` files here, a file
for each area: ``mutant`` says what one is, ``run`` tries them, ``tests/unit/test_mutants.py`` holds them to the code.
"""
