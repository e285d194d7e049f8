"""A remote provider that goes wrong on command: real HTTP, its own process, its own durable bill (G6).

Speaks the wire format of the local renderer, so that the adapters differ only in what a reconciliation
class promises. Belongs here: the program, its client side for tests, and the adapters of classes K, L,
W and N. Does not belong here: what Reelwright makes of it (the tests that use it).
"""
