"""A rule's table and its certificate as a file for Coq, and what its kernel says to them.

The theorem stands in `proof/`, for every table that passes its checks. The checks are given a certificate: what `prove`
found each code to mean, and which codes stand at rest in the lowest row. A wrong certificate makes them fail; it cannot
make a false theorem. What must be trusted here is `table_text`: that it writes the table as it is.
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

THEOREM = ("Grid", "Rule", "Check", "Induction", "Place", "Soundness", "Numbers", "Addition", "Data")
"""The files of the theorem, each after those that it needs."""
NO_AXIOMS = "Closed under the global context"
"""What Coq's `Print Assumptions` says of a theorem that rests on no axiom."""
HEAD = """From Coq Require Import List Arith.
From Gridsum Require Import Grid Rule Check Addition Data.
Import ListNotations.
"""
_ACTIONS = {PUSH: "Write", OPEN: "Open", SKIP: "Skip"}


class CoqError(RuntimeError):
    """Coq is not there, or does not accept the theorem itself; the message says what to do."""


@dataclass(frozen=True)
class Certified:
    """What Coq said of one rule."""

    holds: bool
    """Whether its kernel accepts that the rule passes the checks, and so the theorem about this rule."""
    said: str
    """What `Print Assumptions` printed, or the error."""


def certify(table: RuleTable, proof: Proof) -> Certified:
    """Let Coq check its theorem, and then this rule."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_theorem(folder)
        return compile_file(folder, "Certificate", as_coq(table, proof))


def compile_theorem(folder: Path) -> None:
    """The theorem in an empty folder, checked; nothing in it hangs on a rule."""
    for name in THEOREM:
        done = compile_file(folder, name, (_source() / f"{name}.v").read_text(encoding="utf-8"))
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
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Certified(done.returncode == 0, (done.stderr if done.returncode else done.stdout).strip())


def as_coq(table: RuleTable, proof: Proof) -> str:
    """The rule, its certificate, and the theorem about it."""
    base = table.task.alphabet.base
    return f"""{HEAD}
{table_text(table)}
{certificate_text(table, proof)}
Lemma the_rule_passes : check (adding {base}) the_rule the_certificate = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Definition the_rule_adds :=
  addition {base} the_rule the_certificate (proj1 (Nat.leb_le 2 {base}) eq_refl) the_rule_passes.
Print Assumptions the_rule_adds.
"""


def table_text(table: RuleTable) -> str:
    """Steps by symbol, right, below and left. Of equal rows over the left neighbours one is written."""
    base, steps = table.task.alphabet.base, table.steps.transpose(0, 2, 3, 1)
    rows = dict.fromkeys(map(bytes, steps.reshape(-1, table.outside + 1)))
    names = {row: f"row{number}" for number, row in enumerate(rows)}
    by_symbol = (_list(_list(names[bytes(row)] for row in below) for below in right) for right in steps)
    readings = ("None" if symbol == PAD else f"Some {symbol - FIRST_DIGIT}" for symbol in table.reading)
    return "\n".join(
        (
            *(f"Definition {name} := {_list(map(str, row))}." for row, name in names.items()),
            f"Definition steps := {_list(by_symbol)}.",
            f"Definition readings : list (option nat) := {_list(readings)}.",
            f"Definition actions := {_list(_ACTIONS[action] for action in table.actions)}.",
            f"Definition the_rule := table_of {base} {table.outside} steps readings actions.",
        )
    )


def certificate_text(table: RuleTable, proof: Proof) -> str:
    """What each code means in each kind of cell, and the codes of the lowest row."""
    codes = range(table.outside)
    known = {place: f"Some ({digit}, {carry})" for place, (digit, carry) in proof.meanings.items()}
    meanings = (_list(known.get((kind, code), "None") for code in codes) for kind in range(GROUND + 1))
    ground, corner = (_list(str(code in among).lower() for code in codes) for among in _lowest_row(table, proof))
    return (
        f"Definition meanings : list (list (option meaning)) := {_list(meanings)}.\n"
        f"Definition the_certificate := certificate_of meanings {ground} {corner}."
    )


def _lowest_row(table: RuleTable, proof: Proof) -> tuple[set[int], set[int]]:
    """The codes that can stand at rest in the row without a term, and those of its last column."""
    outside = table.outside
    after = table.steps[table.task.alphabet.empty_cell, :, :, outside]
    rights = [code for kind, code in proof.meanings if kind == GROUND]
    ground = set[int]()
    while not (found := set(after[[outside, *ground]][:, rights].flatten().tolist())) <= ground:
        ground |= found
    return ground, set(after[[*ground], outside].tolist())


def _list(items: Iterable[str]) -> str:
    return f"[{'; '.join(items)}]"


def _source() -> Path:
    """Where the theorem lies: in the package, or beside the sources that it runs from."""
    package = Path(__file__).parents[1]
    return inside if (inside := package / "proof").is_dir() else package.parents[1] / "proof"
