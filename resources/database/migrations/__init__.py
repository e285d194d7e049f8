"""The one migration chain for both databases, run by one verb under a lock."""
