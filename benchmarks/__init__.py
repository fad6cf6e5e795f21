"""The benchmarks: `python -m benchmarks` measures, prints tables and writes them into the documentation."""
