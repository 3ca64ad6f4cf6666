"""What is given to whom, and where: the scheduler's decision as a pure function."""
