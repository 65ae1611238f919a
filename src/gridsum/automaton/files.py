"""Where rules lie as files."""

from pathlib import Path

from gridsum.automaton.table import RuleTable, TableError

_SHIPPED = Path(__file__).parents[1] / "shipped"


def read_rule(path: str | Path) -> RuleTable:
    """The rule in a file that `gridsum rule --out` wrote."""
    try:
        return RuleTable.from_json(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise TableError(f"{path}: this is no text; write a rule with: gridsum rule --out FILE.json") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def shipped_rule(name: str) -> RuleTable | None:
    """The rule of a model that comes with gridsum, if it has one."""
    path = _SHIPPED / f"{name}.rule.json"
    return read_rule(path) if path.is_file() else None
