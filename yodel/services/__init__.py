"""Use cases and loops.  They speak to ports, own the one writer, and hold no protocol or SQL of their own."""
