"""Engines: what executes a graph. ``numpy`` is always there."""
