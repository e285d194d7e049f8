"""Pure rules: standard library only, no clock, no I/O, no framework."""
