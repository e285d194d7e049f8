"""Logs of what was delivered: bytes in, events out. The reader of a file is chosen by its bytes."""
