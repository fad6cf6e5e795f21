"""Roots. Knows no mechanics."""

from .newton import Root, find_root

__all__ = ["Root", "find_root"]
