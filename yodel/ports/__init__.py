"""Interfaces through which the services reach the outside: store, pods, node agents, clock, identity."""
