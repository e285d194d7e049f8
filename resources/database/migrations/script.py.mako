"""${message}

Revision: ${up_revision}, after ${down_revision | comma,n}. Rules of the chain:

- A column ships one release before the behaviour that needs it; the release before must still read
  and write the new schema. So add nullable or defaulted columns, and never rename or drop what the
  release before uses.
- Constraints and indexes are named; statements run unchanged on SQLite and PostgreSQL, or say per
  dialect why not.
- There is no downgrade: restore the back-up that `reelwright migrate` asked you to make.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}
