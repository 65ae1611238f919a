"""Tasks by name: those that come with gridsum, and those that installed packages offer.

A package offers one in its pyproject.toml::

    [project.entry-points."gridsum.tasks"]
    nim = "my_package.tasks:Nim"

What the entry point names is called with the parameters that follow the name: `nim:base=4` calls `Nim(base=4)`.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from gridsum.io.names import did_you_mean
from gridsum.tasks.others import Maximum, Prefix, Times
from gridsum.tasks.sums import Addition, Mixed, Subtraction
from gridsum.tasks.task import Task

DEFAULT = "add"
_GROUP = "gridsum.tasks"
_SHIPPED: dict[str, Callable[..., Task]] = {
    task.kind: task for task in (Addition, Subtraction, Mixed, Times, Maximum, Prefix)
}
_registered: dict[str, Callable[..., Task]] = {}
"""By the names of their kinds; tasks that were given as themselves, by their whole names."""


class TaskError(ValueError):
    """A task that does not exist; the message says which do."""


def register(name: str, make: Callable[..., Task]) -> None:
    """Add a task for as long as the process lives; `make` is called with the parameters that follow its name."""
    if name in _SHIPPED or not name.isidentifier():
        raise TaskError(f"{name!r} cannot name a task of yours; choose a word that is none of {', '.join(_SHIPPED)}")
    _registered[name] = make
    find.cache_clear()


def known_as(task: "str | Task") -> str:
    """The name that `find` knows a task by. One that is given as itself is kept for as long as the process lives."""
    if isinstance(task, str):
        return task
    if not isinstance(task, Task):
        mend = f"make one of it: {task.__name__}()" if isinstance(task, type) else "give one, or its name such as add"
        raise TaskError(f"{task!r} is not a gridsum.tasks.Task; {mend}")
    if task.name.partition(":")[0] not in _SHIPPED:
        _registered[task.name] = lambda: task
        find.cache_clear()
    return task.name


@functools.lru_cache(maxsize=64)
def find(name: str = DEFAULT) -> Task:
    """The task of a name, such as add, add:base=2 or subtract.

    Examples:
        >>> find("add:base=16").answer(("ff", "1"))
        '100'
    """
    makers: dict[str, Any] = _SHIPPED
    if name.partition(":")[0] not in _SHIPPED:  # those of other packages are imported when they are made
        from importlib.metadata import entry_points  # which would make every command start later

        offered = {point.name: point for point in entry_points(group=_GROUP)}
        makers = {**offered, **_registered, **_SHIPPED}
    kind, _, rest = (name, "", "") if name in makers else name.partition(":")
    if kind not in makers:
        yours = f"add your own with gridsum.tasks.register({kind!r}, its class)"
        mend = did_you_mean(kind, makers, f"the tasks are {', '.join(makers)}; {yours}")
        raise TaskError(f"unknown task {kind!r}; {mend}")
    make = makers[kind] if callable(makers[kind]) else makers[kind].load()
    takes, parameters = tuple(inspect.signature(make).parameters), {}
    for part in filter(None, rest.split(",")):
        key, equals, value = map(str.strip, part.partition("="))
        if not equals or not key.isidentifier():
            raise TaskError(f"{part!r} is not a parameter of a task; write {kind}:base=2")
        if key not in takes:
            mend = did_you_mean(key, takes, f"it takes {', '.join(takes) or 'nothing'}")
            raise TaskError(f"the task {kind} takes no {key!r}; {mend}")
        parameters[key] = int(value) if value.isascii() and value.isdigit() else value
    try:
        task = make(**parameters)
    except (TypeError, ValueError) as error:
        raise TaskError(f"the task {name}: {error}") from None
    if not isinstance(task, Task):
        raise TaskError(f"the task {kind} is a {type(task).__name__}, not a gridsum.tasks.Task; make it one")
    return task
