"""How large is an unknown? The scales in which Newton's updates are measured.

May import `code` and what stands above it.
"""
