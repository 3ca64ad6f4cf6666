"""What an operator may set, one module a subject."""
