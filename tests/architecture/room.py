"""A contract for import-linter: a room may import what its line names, and nothing else.

Direct imports alone are looked at: what a room stands on may itself stand on more. The standard library is
always allowed, and so are the room itself and the bare roots, which hold nothing but their name. The table
is `[tool.importlinter]` in pyproject.toml.
"""

from __future__ import annotations

import sys

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ROOTS = frozenset({"pipeline", "resources"})


class RoomContract(Contract):
    """`room` and everything below it may import `may_import`."""

    type_name = "room"

    room = fields.StringField()
    may_import = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002  their signature
        broken = [
            f"{importer} -> {imported}"
            for importer in sorted(graph.modules)
            if lies_in(importer, str(self.room))
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if not self._allows(imported)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["broken"]:
            output.print_error(f"- {line}", bold=False)

    def _allows(self, imported: str) -> bool:
        if imported.partition(".")[0] in sys.stdlib_module_names or imported in ROOTS:
            return True
        return any(lies_in(imported, room) for room in (str(self.room), *map(str, self.may_import)))


def lies_in(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")
