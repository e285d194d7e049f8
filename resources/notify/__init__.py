"""Telling people: a log, a webhook or e-mail, chosen by one setting."""
