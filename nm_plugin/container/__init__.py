"""The containers of this node: their life, what is known of them, and the work that moves them on."""
