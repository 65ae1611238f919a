"""Where rules lie as files."""

from pathlib import Path

from gridsum.automaton.table import RuleTable, TableError
from gridsum.tasks.task import DECIMAL

SHIPPED = Path(__file__).parents[1] / "shipped"


def read_rule(path: str | Path) -> RuleTable:
    """The rule in a file that `gridsum export --to json` wrote."""
    try:
        return RuleTable.from_json(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise TableError(f"{path}: this is not text; write one with: gridsum export --to json") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def shipped_rules() -> dict[str, RuleTable]:
    """The rules that come with gridsum, by the names of their models; of an operation, that for base 10 first."""
    found = {path.name.removesuffix(".rule.json"): read_rule(path) for path in SHIPPED.glob("*.rule.json")}

    def place(name: str) -> tuple[str, int]:
        task = found[name].task
        return task.kind, 0 if task.alphabet.base == DECIMAL else task.alphabet.base

    return {name: found[name] for name in sorted(found, key=place)}


def shipped_rule(name: str) -> RuleTable | None:
    """The rule of a model that comes with gridsum, if it has one; a path is no name of one."""
    path = SHIPPED / f"{name}.rule.json"
    return read_rule(path) if path.parent == SHIPPED and path.is_file() else None
