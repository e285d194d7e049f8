"""HTTP out: one client, one guard for URLs, one download. The one room that other rooms stand on."""
