"""What takes the steps: one runner for each way to run them, and the one place that chooses.

May import everything else of the engine.
"""
