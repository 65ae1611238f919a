"""A rule's table and its certificate as a file for Coq, and what its kernel says to them.

The theorem stands in `proof/`, for every table that passes its checks. The checks are given a certificate: what `prove`
found each state to mean, and which states stand at rest in the lowest row. A wrong certificate makes them fail; it
cannot make a false theorem. What must be trusted here is `table_text`: that it writes the table as it is.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridsum.automaton.proof import GROUND, Certificate, Kind
from gridsum.automaton.table import OPEN, SKIP, WRITE, RuleTable
from gridsum.tasks import FIRST_DIGIT, PAD

THEOREM = ("Grid", "Rule", "Check", "Induction", "Place", "Soundness", "Numbers", "Addition", "Data")
"""The files of the theorem, each after those that it needs."""
NO_AXIOMS = "Closed under the global context"
"""What Coq's `Print Assumptions` says of a theorem that rests on no axiom."""
HEAD = """From Coq Require Import List Arith.
From Gridsum Require Import Grid Rule Check Addition Data.
Import ListNotations.
"""
_ACTIONS = {WRITE: "Write", OPEN: "Open", SKIP: "Skip"}


class CoqError(RuntimeError):
    """Coq is not there, or does not accept the theorem itself; the message says what to do."""


@dataclass(frozen=True)
class Certified:
    """What Coq said of one rule."""

    holds: bool
    """Whether its kernel accepts that the rule passes the checks, and so the theorem about this rule."""
    said: str
    """What `Print Assumptions` printed, or the error."""


def certify(table: RuleTable, certificate: Certificate) -> Certified:
    """Let Coq check its theorem, and then this rule."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_theorem(folder)
        return compile_file(folder, "Certificate", as_coq(table, certificate))


def compile_theorem(folder: Path) -> None:
    """The theorem in an empty folder, checked; nothing in it hangs on a rule."""
    package = Path(__file__).parents[1]  # in which it lies, or beside the sources that the package runs from
    source = inside if (inside := package / "proof").is_dir() else package.parents[1] / "proof"
    for name in THEOREM:
        done = compile_file(folder, name, (source / f"{name}.v").read_text(encoding="utf-8"))
        if not done.holds:
            raise CoqError(f"Coq does not accept {name}.v, which belongs to gridsum: {done.said}. Coq 8.16 does")


def compile_file(folder: Path, name: str, text: str) -> Certified:
    """One more file beside those that are compiled."""
    compiler = shutil.which("coqc")
    if compiler is None:
        raise CoqError(
            "Coq is not installed; on Debian or Ubuntu: apt-get install coq. Without it, gridsum prove makes the same "
            "checks in Python. That they are enough is then the argument of docs/proof.md, not a theorem of Coq"
        )
    (folder / f"{name}.v").write_text(text, encoding="utf-8")
    command = [compiler, "-q", "-Q", str(folder), "Gridsum", str(folder / f"{name}.v")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # it keeps caches there
    return Certified(done.returncode == 0, (done.stderr if done.returncode else done.stdout).strip())


def as_coq(table: RuleTable, certificate: Certificate) -> str:
    """The rule, its certificate, and the theorem about it."""
    base, lists = table.task.alphabet.base, Lists()
    rule, given = table_text(table, lists), certificate_text(table, certificate, lists)
    return f"""{HEAD}
{lists.text()}
Definition the_rule := {rule}.
Definition the_certificate := {given}.
Lemma the_rule_passes : check (adding {base}) the_rule the_certificate = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Definition the_rule_adds :=
  addition {base} the_rule the_certificate (proj1 (Nat.leb_le 2 {base}) eq_refl) the_rule_passes.
Print Assumptions the_rule_adds.
"""


class Lists(dict[str, str]):
    """Lists in Coq, and their names. Of equal ones one is defined."""

    def name(self, items: Iterable[str], of: str) -> str:
        return self.setdefault(f"list {of} := [{'; '.join(items)}]", f"list{len(self)}")

    def text(self) -> str:
        return "\n".join(f"Definition {name} : {known}." for known, name in self.items())


def table_text(table: RuleTable, lists: Lists) -> str:
    """Steps by symbol, right, below and left; readings by state; actions by letter."""
    base, nested = table.task.alphabet.base, ("nat", "(list nat)", "(list (list nat))", "(list (list (list nat)))")

    def named(steps: list[Any], depth: int) -> str:
        return lists.name((named(part, depth - 1) if depth else str(part) for part in steps), nested[depth])

    steps = named(table.steps.transpose(0, 2, 3, 1).tolist(), 3)
    reading = ("None" if symbol == PAD else f"Some {symbol - FIRST_DIGIT}" for symbol in table.outputs)
    readings = lists.name(reading, "(option nat)")
    actions = lists.name((_ACTIONS[action] for action in table.actions), "action")
    return f"table_of {base} {table.outside} {steps} {readings} {actions}"


def certificate_text(table: RuleTable, certificate: Certificate, lists: Lists) -> str:
    """What each state means in each kind of cell, and the states of the lowest row."""
    states = range(table.outside)

    def known(kind: Kind) -> str:
        found = (certificate.meaning_of[kind].get(state) for state in states)
        return lists.name((f"Some {meaning}" if meaning else "None" for meaning in found), "(option meaning)")

    def among(some: set[int]) -> str:
        return lists.name((str(state in some).lower() for state in states), "bool")

    meanings = lists.name(map(known, (*filter(None, certificate.meaning_of), GROUND)), "(list (option meaning))")
    ground, corner = among(certificate.ground), among(certificate.corner)
    return f"certificate_of {meanings} {ground} {corner}"
