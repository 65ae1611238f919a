"""A rule's table and certificate as a file for Coq, and what its kernel says to them.

The theorem stands in `proof/`, for every table that passes its checks. The checks are given a certificate: what `prove`
found each code to mean, and which codes stand at rest in the lowest row. A wrong certificate makes them fail; it cannot
make a false theorem. What must be trusted here is `_table_text`: that it writes the table as it is.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gridsum.automaton.proof import GROUND, OPEN, PUSH, SKIP, Proof
from gridsum.automaton.table import RuleTable
from gridsum.tasks import FIRST_DIGIT, PAD

FILES = ("Grid", "Rule", "Check", "Induction", "Place", "Soundness", "Numbers", "Addition", "Data")
"""The theorem, in the order that files need each other."""
_ACTIONS = {PUSH: "Write", OPEN: "Open", SKIP: "Skip"}
_CLOSED = "Closed under the global context"


class NoCoqError(RuntimeError):
    """Coq is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Certified:
    """What Coq said."""

    holds: bool
    """Whether the kernel accepted that the rule passes the checks, and so the theorem about it."""
    assumptions: str
    """What `Print Assumptions` says of the theorem."""
    said: str
    """All that was printed."""


def certify(table: RuleTable, proof: Proof) -> Certified:
    """Let Coq check its own theorem, then this rule."""
    compiler = shutil.which("coqc")
    if compiler is None:
        raise NoCoqError(
            "Coq is not installed. On Debian or Ubuntu: apt-get install coq. Without it, `gridsum prove` makes the same "
            "checks in Python; that they are enough is then the argument of docs/proof.md, not a theorem of Coq's"
        )
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            shutil.copy(_source() / f"{name}.v", folder)
        (Path(folder) / "Certificate.v").write_text(as_coq(table, proof), encoding="utf-8")
        done = None
        for name in (*FILES, "Certificate"):
            command = [compiler, "-q", "-Q", folder, "Gridsum", str(Path(folder) / f"{name}.v")]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
            if done.returncode and name != "Certificate":
                raise RuntimeError(f"Coq does not accept {name}.v, which no rule can change: {done.stderr.strip()}")
        assert done is not None
        return Certified(done.returncode == 0, done.stdout.strip(), done.stdout + done.stderr)


def as_coq(table: RuleTable, proof: Proof) -> str:
    """The rule, its certificate, and the theorem about it."""
    base = table.task.alphabet.base
    return f"""(* Written by gridsum: a rule of {len(table.codes)} codes that adds in base {base}. *)
From Coq Require Import List Arith.
From Gridsum Require Import Grid Rule Check Addition Data.
Import ListNotations.

{_table_text(table)}
{_certificate_text(table, proof)}
Lemma checked : check (adding {base}) the_rule the_certificate = true.
Proof. vm_compute. reflexivity. Qed.

Definition the_rule_adds := addition {base} the_rule the_certificate (proj1 (Nat.leb_le 2 {base}) eq_refl) checked.
Print Assumptions the_rule_adds.
"""


def _table_text(table: RuleTable) -> str:
    """Rows by symbol, right and below, each over the left neighbours; equal rows are written once."""
    base, steps = table.task.alphabet.base, table.steps.transpose(0, 2, 3, 1)
    rows = list(dict.fromkeys(map(bytes, steps.reshape(-1, table.outside + 1))))
    names = {row: f"r{number}" for number, row in enumerate(rows)}
    readings = (
        "None" if symbol == PAD else f"Some {symbol - FIRST_DIGIT}" for symbol in table.reading
    )  # a sign reads as a number that is no digit
    lines = [f"Definition {names[row]} := {_list(map(str, row))}." for row in rows]
    by_symbol = (_list(_list(names[bytes(row)] for row in below) for below in right) for right in steps)
    return "\n".join(
        (
            *lines,
            f"Definition steps := {_list(by_symbol, end=';' + chr(10))}.",
            f"Definition readings : list (option nat) := {_list(readings)}.",
            f"Definition actions := {_list(_ACTIONS[action] for action in table.actions)}.",
            f"Definition the_rule := table_of {base} {table.outside} steps readings actions.",
        )
    )


def _certificate_text(table: RuleTable, proof: Proof) -> str:
    codes = range(table.outside)
    ground, corner = _lowest_row(table, proof)
    meanings = (
        _list("Some ({}, {})".format(*proof.meanings[kind, code]) if (kind, code) in proof.meanings else "None"
              for code in codes)
        for kind in range(GROUND + 1)
    )
    flags = (_list(str(code in among).lower() for code in codes) for among in (ground, corner))
    return (
        f"Definition meanings : list (list (option meaning)) := {_list(meanings)}.\n"
        f"Definition the_certificate := certificate_of meanings {' '.join(flags)}."
    )


def _lowest_row(table: RuleTable, proof: Proof) -> tuple[set[int], set[int]]:
    """The codes that can stand at rest in the row without a term, and those of its last column."""
    outside = table.outside
    empty = table.steps[table.task.alphabet.empty_cell, :, :, outside]  # by left and right
    rights = [code for kind, code in proof.meanings if kind == GROUND]
    ground, found = set[int](), {outside}
    while found - {outside} - ground or not ground:
        ground |= found - {outside}
        found = set(empty[[outside, *ground]][:, rights].flatten().tolist())
        if not found:
            break
    return ground, set(empty[[*ground], outside].tolist())


def _list(items: Iterable[str], end: str = "; ") -> str:
    return f"[{end.join(items)}]"


def _source() -> Path:
    """Where the theorem lies: in the package, or beside the sources that it is installed from."""
    package = Path(__file__).parents[1]
    inside = package / "proof"
    return inside if inside.is_dir() else package.parents[1] / "proof"
