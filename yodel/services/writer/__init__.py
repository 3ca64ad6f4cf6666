"""The one writer, and what it publishes: rows, what lives only in memory, and the counts kept beside them."""
