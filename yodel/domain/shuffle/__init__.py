"""Remote shuffle by queue: what a queue says of it, and what that comes to for one application attempt.  Pure.

``words`` are kept with the queue, ``services`` has one table a service, ``decision`` applies a table to an attempt.
"""
