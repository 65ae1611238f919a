"""`gridsum --completion SHELL`: what a shell needs to complete commands, options and names."""

import importlib
from collections.abc import Sequence

from gridsum.cli import COMMANDS
from gridsum.cli.options import parser_of
from gridsum.io.names import MODELS


def options_of(command: str, *arguments: str) -> list[str]:
    """The options of a command, those of its configuration's fields among them."""
    parser = parser_of(importlib.import_module(f"gridsum.cli.{command}").Options, arguments)
    return sorted(option for option in parser._option_string_actions if option.startswith("--"))


def names_after() -> dict[str, Sequence[str]]:
    """What can follow a command or an option, where that is one of a few names."""
    from gridsum.cli.figure import FIGURES
    from gridsum.cli.table import TABLES
    from gridsum.config.registry import names
    from gridsum.evaluation.suites import COLLECTIONS
    from gridsum.tasks.registry import known

    return {
        **{before: list(MODELS) for before in ("--model", "--start-from", "export", "models")},
        "--variant": list(names()),
        "--task": list(known()),
        "--suite": list(COLLECTIONS),
        "table": list(TABLES),
        "figure": list(FIGURES),
    }


def script(shell: str) -> str:
    after = {before: " ".join(names) for before, names in names_after().items()}
    options = {command: " ".join(options_of(command)) for command in COMMANDS}
    options["train"] = " ".join(sorted({*options["train"].split(), *options_of("train", "--variant", "exact")}))
    if shell == "fish":
        lines = [
            f"complete -c gridsum -n __fish_use_subcommand -a {name} -d '{said}'" for name, said in COMMANDS.items()
        ]
        for command, words in options.items():
            used = f"complete -c gridsum -n '__fish_seen_subcommand_from {command}'"
            lines += [f"{used} -a '{after[command]}'"] if command in after else []
            lines += [
                f"{used} -l {word.removeprefix('--')}" + (f" -r -a '{after[word]}'" if word in after else "")
                for word in words.split()
            ]
        return "\n".join(lines) + "\n"
    named = "\n".join(
        f'    {before}) COMPREPLY=($(compgen -W "{names}" -- "$word") $(compgen -f -- "$word")); return ;;'
        for before, names in after.items()
    )
    cases = "\n".join(f'    {command}) words="{words}" ;;' for command, words in options.items())
    return f"""{"autoload -U +X bashcompinit && bashcompinit" if shell == "zsh" else "# bash completion of gridsum"}
_gridsum() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(COMMANDS)} --help --version --completion" -- "$word"))
    return
  fi
  case "$before" in
{named}
  esac
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _gridsum gridsum
"""
