"""From a launch context to a running process: users, script, hand-over to the parked pod."""
