"""What the ports ask of the machine itself: its clock and its users."""
