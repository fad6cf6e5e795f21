"""The command line: `dalembert list | simulate | check | converge | demo | reproduce`."""

from .app import app, main

__all__ = ["app", "main"]
