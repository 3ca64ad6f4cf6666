"""The pure core: identifiers, values, state tables, allocation.  No clock, no randomness, no IO, no logging."""
