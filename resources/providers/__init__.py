"""Remote video providers: one file each behind one protocol, found by the entry-point group."""
