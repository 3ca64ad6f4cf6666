"""Master keys, the tokens made with them, and delegation tokens."""
