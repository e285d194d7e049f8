"""The local renderer: a program of its own that turns stills and copy into videos, behind a small HTTP API.

Belongs here: the job server, its durable job store, captions, motion, FFmpeg. Does not belong here:
anything of Reelwright's lifecycle; to the pipeline this is one more remote provider (G1). Nothing
imports this package; `resources.providers.local` speaks HTTP to it.
"""
