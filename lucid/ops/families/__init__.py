"""MIL's families of operations, one file each."""
