"""When it happens: each sensor asks one question, requests, and stops."""
