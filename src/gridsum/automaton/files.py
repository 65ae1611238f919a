"""Where rules lie as files."""

from pathlib import Path

from gridsum.automaton.table import RuleTable, TableError

_SHIPPED = Path(__file__).parents[1] / "shipped"
# A table of 255 states, which do not compress at all, as text.
_MOST_BYTES = 10**9


def read_rule(path: str | Path) -> RuleTable:
    """The rule in a file that `gridsum rule --out` wrote."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise TableError("no rule is so large; write one with: gridsum rule --out FILE.json")
        return RuleTable.from_json(text)
    except UnicodeDecodeError:
        raise TableError(f"{path}: this is not text; write a rule with: gridsum rule --out FILE.json") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def shipped_tasks() -> dict[str, str]:
    """The tasks that a rule comes with gridsum for, and the names of these rules."""
    names = [path.name.removesuffix(".rule.json") for path in sorted(_SHIPPED.glob("*.rule.json"))]
    return {read_rule(_SHIPPED / f"{name}.rule.json").task.name: name for name in names}


def shipped_rule(name: str) -> RuleTable | None:
    """The rule of a model that comes with gridsum, if it has one; a path is no name of one."""
    path = _SHIPPED / f"{name}.rule.json"
    return read_rule(path) if path.parent == _SHIPPED and path.is_file() else None
