"""Queues: what they are, who may use them, and the CapacityScheduler's properties for them."""
