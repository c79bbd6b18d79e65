"""The way from a spec to a checked package: one stage, one file."""
