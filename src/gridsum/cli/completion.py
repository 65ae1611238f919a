"""`gridsum completion`: what a shell needs to complete commands, options and names of models."""

import importlib
from collections.abc import Sequence

from gridsum.cli.output import print_text
from gridsum.cli.parsing import Parser, one_of
from gridsum.names import MODELS

_SHELLS = ("bash", "zsh", "fish")


def _parser() -> Parser:
    parser = Parser(
        "completion",
        "Print a script that lets a shell complete commands, options and names of models.",
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
    """The options of a command, those of its fields among them."""
    parser = importlib.import_module(f"gridsum.cli.{command}")._parser()
    return sorted(option for option in parser._option_string_actions if option.startswith("--"))


def _bash(zsh: bool) -> str:
    from gridsum.cli import COMMANDS

    cases = "\n".join(f'    {command}) words="{" ".join(options_of(command))}" ;;' for command in COMMANDS)
    return f"""{"autoload -U +X bashcompinit && bashcompinit" if zsh else "# bash completion of gridsum"}
_gridsum() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(COMMANDS)} --help --version" -- "$word"))
    return
  fi
  case "$before" in
    --model|--start-from|export)
      COMPREPLY=($(compgen -W "{" ".join(MODELS)}" -- "$word") $(compgen -f -- "$word"))
      return ;;
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

    lines = []
    for command, meaning in COMMANDS.items():
        lines.append(f"complete -c gridsum -n __fish_use_subcommand -a {command} -d {_quoted(meaning)}")
        used = f"-n '__fish_seen_subcommand_from {command}'"
        for option in options_of(command):
            names = f" -x -a '{' '.join(MODELS)}'" if option == "--model" else ""
            lines.append(f"complete -c gridsum {used} -l {option.removeprefix('--')}{names}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"
