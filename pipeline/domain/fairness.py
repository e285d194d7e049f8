"""Sharing room between tenants: nobody gets a second place while another waits for its first (G10)."""

from __future__ import annotations

from collections.abc import Mapping


def share(room: int, free: Mapping[str, int]) -> dict[str, int]:
    """Places for each tenant: at most its free ones, at most *room* in all, as even as can be.

    What cannot be shared evenly goes to those named first.
    """
    quotas = dict.fromkeys(free, 0)
    open_tenants = [tenant for tenant, places in free.items() if places > 0]
    while room > 0 and open_tenants:
        even = max(1, room // len(open_tenants))
        for tenant in open_tenants:
            given = min(even, free[tenant] - quotas[tenant], room)
            quotas[tenant] += given
            room -= given
        open_tenants = [tenant for tenant in open_tenants if quotas[tenant] < free[tenant]]
    return quotas
