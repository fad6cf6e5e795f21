"""Other programs on the same problems, each in an environment of its own."""
