"""The program: its commands, and what happens to errors.

A mistake of the user's is one line on standard error: status 2 for input that cannot be used, 1 for a run or
a check that failed. `--traceback` before the command shows where in the library it was noticed.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

from ..errors import DalembertError, InputError, ModelError

OK, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
#: The base of the errors that the option parser raises, wherever the installed release of typer keeps them.
_ParserError: Any = typer.BadParameter.__mro__[2]

#: The commands: the module of each, which is loaded when the command is used, and what the list of commands says.
COMMANDS = {
    "list": ("listing", "Show methods and systems, with what they treat and keep."),
    "simulate": ("simulating", "Simulate a system and say what was kept."),
    "resume": ("resuming", "Go on with a run that was interrupted."),
    "check": ("checking", "Look at a model before it is simulated."),
    "converge": ("converging", "Measure the order of convergence of a method."),
    "compare": ("comparing", "Compare methods: work, precision, energy."),
    "studio": ("showing", "See a system in the browser, turn it and change it."),
    "demo": ("demo", "Run the gallery and measure what methods claim."),
    "reproduce": ("reproducing", "Compute figures and tables of the papers again."),
}
_LOOKS: dict[str, Any] = {
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class Commands(TyperGroup):
    """The commands by name; only the one that is used is loaded, which takes a second."""

    def list_commands(self, ctx) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx, cmd_name: str):
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".{COMMANDS[cmd_name][0]}", __package__)
        single = typer.Typer(add_completion=False, **_LOOKS)
        single.command(cmd_name)(getattr(module, f"{cmd_name}_command"))
        return get_command(single)

    def resolve_command(self, ctx, args: list[str]):
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from ..arguments import one_of  # which imports numpy: not before it is needed

            raise one_of("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx, formatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in COMMANDS.items()])


app = typer.Typer(
    name="dalembert",
    cls=Commands,
    help="Simulate constrained mechanical systems and keep their structure.",
    add_completion=True,
    **_LOOKS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"dalembert {version('dalembert')}")
        raise typer.Exit()


@app.callback()
def _program(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show where an error comes from.")] = False,
) -> None:
    _settings["traceback"] = traceback


_settings = {"traceback": False}


def main(arguments: list[str] | None = None) -> None:
    """The console entry."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    _settings["traceback"] = False
    try:
        arguments = sys.argv[1:] if arguments is None else arguments
        status = app(arguments or ["--help"], standalone_mode=False, prog_name="dalembert") or OK
        if status == INTERRUPTED:  # which typer makes of Ctrl-C, without a word
            return _complain("interrupted.", INTERRUPTED)
        return status
    except typer.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted.", INTERRUPTED)
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if _settings["traceback"]:
            raise
        return _complain(*_verdict(error))


def _verdict(error: Exception) -> tuple[str, int]:
    """What to say, and the exit status."""
    if isinstance(error, _ParserError):
        message: str = cast(Any, error).format_message()
        return f"{message.rstrip('.')}. Try --help.", WRONG_INPUT
    if isinstance(error, InputError | ModelError):
        return _as_options(str(error)), WRONG_INPUT
    if isinstance(error, DalembertError):
        return str(error), FAILED
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename}", FAILED
    return f"unexpected {type(error).__name__}: {error} (dalembert --traceback ... shows where)", FAILED


def _as_options(message: str) -> str:
    """The library's advice in the words of the command line."""
    message = message.replace("pass project=True", "add --project").replace(
        'pass redundant="allow"', "add --redundant allow"
    )
    return message.replace(", or see how far it would move with da.consistent(...)", "; `dalembert check` says how far")


def _complain(message: str, status: int) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return status
