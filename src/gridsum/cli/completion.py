"""`gridsum completion`: what a shell needs to complete commands, options and names."""

import importlib
from collections.abc import Sequence

from gridsum.cli.output import print_text
from gridsum.cli.parsing import Parser, one_of
from gridsum.io.names import MODELS

_SHELLS = ("bash", "zsh", "fish")


def _parser() -> Parser:
    parser = Parser(
        "completion",
        "Print a script that lets a shell complete commands, options and names.",
        "gridsum completion bash|zsh|fish",
        "examples:\n"
        "  gridsum completion bash > ~/.local/share/bash-completion/completions/gridsum\n"
        '  eval "$(gridsum completion zsh)"\n'
        "  gridsum completion fish > ~/.config/fish/completions/gridsum.fish",
    )
    parser.add_argument("shell", type=one_of("shell", _SHELLS), metavar="SHELL", help="bash, zsh or fish")
    return parser


def run(arguments: Sequence[str]) -> int:
    shell = _parser().read(arguments).shell
    print_text(_fish() if shell == "fish" else _bash(zsh=shell == "zsh"))
    return 0


def options_of(command: str) -> list[str]:
    """The options of a command, those of its fields among them; of `train`, also those of `exact`."""
    modules = [command, "discover"] if command == "train" else [command]
    parsers = [importlib.import_module(f"gridsum.cli.{module}")._parser() for module in modules]
    found = {option for parser in parsers for option in parser._option_string_actions}
    return sorted(option for option in found if option.startswith("--"))


def names_after() -> dict[str, Sequence[str]]:
    """What can follow a command or an option, where that is one of a few names."""
    from gridsum.baselines.registry import SYSTEMS
    from gridsum.cli.figure import FIGURES
    from gridsum.cli.table import FORMATS, TABLES
    from gridsum.config.variants import VARIANTS
    from gridsum.evaluation.suites import COLLECTIONS
    from gridsum.tasks.registry import known

    models = list(MODELS)
    return {
        **dict.fromkeys(("--model", "--start-from", "export", "models"), models),
        "--variant": ["exact", *VARIANTS],
        "--system": list(SYSTEMS),
        "--task": list(known()),
        "--suite": list(COLLECTIONS),
        "--to": ["hf", "onnx", "json"],
        "--format": FORMATS,
        "table": list(TABLES),
        "figure": list(FIGURES),
        "completion": _SHELLS,
    }


def _bash(zsh: bool) -> str:
    from gridsum.cli import COMMANDS

    named = "\n".join(
        f'    {before}) COMPREPLY=($(compgen -W "{" ".join(names)}" -- "$word") $(compgen -f -- "$word")); return ;;'
        for before, names in names_after().items()
    )
    cases = "\n".join(f'    {command}) words="{" ".join(options_of(command))}" ;;' for command in COMMANDS)
    return f"""{"autoload -U +X bashcompinit && bashcompinit" if zsh else "# bash completion of gridsum"}
_gridsum() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(COMMANDS)} --help --version" -- "$word"))
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


def _fish() -> str:
    from gridsum.cli import COMMANDS

    lines, after = [], names_after()
    for command, meaning in COMMANDS.items():
        lines.append(f"complete -c gridsum -n __fish_use_subcommand -a {command} -d {_quoted(meaning)}")
        used = f"-n '__fish_seen_subcommand_from {command}'"
        if command in after:
            lines.append(f"complete -c gridsum {used} -a '{' '.join(after[command])}'")
        for option in options_of(command):
            names = f" -r -a '{' '.join(after[option])}'" if option in after else ""
            lines.append(f"complete -c gridsum {used} -l {option.removeprefix('--')}{names}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"
