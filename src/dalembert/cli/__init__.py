"""The command line: `dalembert list | simulate | check | converge | demo`."""

from .app import app, main

__all__ = ["app", "main"]
