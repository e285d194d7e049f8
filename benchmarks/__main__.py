"""`python -m benchmarks [NAME...]`: runs the named benchmarks and prints their table.

Without a name all run that need no server beside PostgreSQL.

Exit code 1 when a goal is missed, so that a figure in the README cannot rot unseen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import rich

from benchmarks import byte_time, claims, polling, retention, transitions, usage_logs, whole_product
from benchmarks.figures import Figure, table

NAMES = ("transitions", "claims", "polling", "usage", "retention", "product")
#: What a server must be downloaded for, or a database be filled for minutes.
BY_NAME_ALONE = ("opensearch", "s3", "retention-s3", "bytetime")


def benchmarks(sizes: Sequence[int]) -> Mapping[str, Callable[[], Iterator[Figure]]]:
    return {
        "transitions": transitions.benchmark,
        "claims": claims.benchmark,
        "polling": polling.benchmark,
        "product": lambda: whole_product.benchmark(sizes),
        "usage": usage_logs.benchmark,
        "bytetime": byte_time.benchmark,
        "opensearch": _opensearch,
        "s3": _s3,
        "retention": retention.benchmark,
        "retention-s3": retention.benchmark_s3,
    }


def _opensearch() -> Iterator[Figure]:
    from benchmarks import opensearch  # its client is installed for production

    return opensearch.benchmark()


def _s3() -> Iterator[Figure]:
    from benchmarks import s3_upload  # as above

    return s3_upload.benchmark()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"any of {', '.join(NAMES)} (these if none), {', '.join(BY_NAME_ALONE)}",
    )
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=int,
        default=whole_product.SIZES,
        metavar="N",
        help="renditions of `product`",
    )
    asked = parser.parse_args()
    known = benchmarks(asked.sizes)
    if strange := set(asked.names) - set(known):
        parser.error(f"unknown: {', '.join(sorted(strange))}; any of {', '.join(known)}")
    figures = []
    for name in asked.names or NAMES:
        for figure in known[name]():
            print(f"{figure.name}: {figure.ratio:.2f} ({figure.verdict})", file=sys.stderr, flush=True)
            figures.append(figure)
    rich.print(table(figures))
    return int(any(figure.verdict == "MISSED" for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
