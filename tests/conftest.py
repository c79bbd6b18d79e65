"""What all tests share. Its folder is on the path, so that tests can import the oracles that stand beside it."""
