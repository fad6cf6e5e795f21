"""The command line: `dalembert list | simulate | check | converge | compare | demo | reproduce`."""

from .app import app, main

__all__ = ["app", "main"]
