"""Which code this is, as records name it."""

from pathlib import Path

__version__ = "0.2.0"


def source_commit() -> str | None:
    """The commit of the checkout that this code runs from, marked if it was changed since; or None."""
    import subprocess  # which would make every command start later

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # Installed into an environment that lies inside some other repository, it is not that one's code.
    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    commit = git("rev-parse", "--short", "HEAD")
    return f"{commit}-dirty" if commit and git("status", "--porcelain", "--", ":/*.py") else commit
