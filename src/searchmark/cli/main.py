"""The command line's door: which commands there are, and what a failure exits with.

A command's module is imported when the command is called, so that ``--help`` stays quick.
"""

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from searchmark.cli.ending import INTERRUPTED, Ending, listening
from searchmark.errors import (
    OWN_FAULT,
    InputError,
    OutsideError,
    ProjectError,
    SearchmarkError,
    described,
    nearest,
    one_line,
)
from searchmark.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "demo": ("searchmark.cli.demo:demo", "Try everything on a catalog that comes along."),
    "init": ("searchmark.cli.init:init", "Write a project file for the data in a folder."),
    "guide": ("searchmark.cli.guide:guide", "Walk through a first evaluation, step by step."),
    "eval": ("searchmark.cli.eval:evaluate", "Evaluate run files against judgments."),
    "run": ("searchmark.cli.run:run", "Run a project's systems and compare them."),
    "compare": ("searchmark.cli.compare:compare", "Tell which differences can be trusted."),
    "diagnose": ("searchmark.cli.diagnose:diagnose", "Tell what is wrong and what to try."),
    "explain": ("searchmark.cli.explain:explain", "Ask an engine why it ranks a document there."),
    "gate": ("searchmark.cli.gate:gate", "Fail where a system fell behind its baseline."),
    "baseline": ("searchmark.cli.baseline:baseline", "Accept or show the gate's baseline."),
    "serve": ("searchmark.cli.serve:serve", "Answer searches over HTTP by a project's system."),
    "work": ("searchmark.cli.work:work", "Embed what waits in a PostgreSQL catalog's queue."),
    "rolling": ("searchmark.cli.rolling:rolling", "Sample a live catalog and record its quality."),
    "doctor": ("searchmark.cli.doctor:doctor", "Tell what is installed and what is missing."),
    "schema": ("searchmark.cli.schema:schema", "Print the JSON schema of the project file."),
}
"""Command -> where it lives, and the line that --help shows."""

CUT_OFF = 141
"""What shells give for a command whose reader went away."""

COMPLETION = "_SEARCHMARK_COMPLETE"
"""The variable in which a shell asks what could be typed next."""


class LazyGroup(click.Group):
    """A group whose commands are imported only when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is told with the nearest known ones."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(f"there is no command '{name}'; {nearest(name, COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="searchmark")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(*, debug: bool) -> None:
    """Tell whether a search got better, for whom, by how much, and whether to trust the number.

    Exit codes: 0 good, 1 the verdict is bad, 2 the input or the project file is wrong, 3 a system
    or a service failed, 4 not comparable with the baseline, 5 a fault of our own.
    """


def main(arguments: "Sequence[str] | None" = None) -> None:
    """Run the command line and exit."""
    _open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given or os.environ.get("SEARCHMARK_DEBUG") == "1"
    given = [a for a in given if a != "--debug"]
    if COMPLETION in os.environ:
        cli.main(given, prog_name="searchmark")  # answers the shell and exits
    with listening() as ending:
        code = ending.code(_run(given, ending, debug=debug))
    _release_streams()
    is_kept = ending.number is not None or "searchmark.systems.guard" in sys.modules
    if arguments is None and is_kept:
        from searchmark.cli.leaving import leave

        leave(code)
    gc.freeze()  # the process ends: looking through all objects for cycles would only cost time
    sys.exit(code)


def _open_streams() -> None:
    """Open streams that were closed (``>&-``): no file of ours may come to stand in their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - till the process ends


def _release_streams() -> None:
    """Give up what can no longer be written, or Python tries again at exit and changes the code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: list[str], ending: Ending, *, debug: bool) -> int:
    try:
        code = _invoke(arguments)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        return _refuse(error)
    except ProjectError as error:
        return _fail(str(error), error.exit_code, debug=debug)  # a line for each of its problems
    except SearchmarkError as error:
        return _fail(one_line(str(error)), error.exit_code, debug=debug)
    except (KeyboardInterrupt, click.exceptions.Abort):
        _say(f"{ending.told}; what was answered is kept, and the same command goes on from there")
        return INTERRUPTED
    except BrokenPipeError:
        return CUT_OFF  # whoever read our output has enough
    except SystemExit as error:
        # a function under test that calls exit(0) must not pass for a good verdict
        what = f"code under test ended the program with exit({error.code!r})"
        return _fail(what, OutsideError.exit_code, debug=debug)
    except OSError as error:
        message, code = _refused_by_the_machine(error)
        return _fail(one_line(message), code, debug=debug)
    except BaseException as error:
        what = f"a fault of our own: {described(error)}"
        return _fail(f"{what}; run again with --debug and report what it prints", debug=debug)
    return code if isinstance(code, int) else 0


def _invoke(arguments: list[str]) -> object:
    """Call the command; click's own `main` would turn broken pipes and early ends into codes."""
    with cli.make_context("searchmark", arguments) as context:
        return cli.invoke(context)


def _refuse(error: click.ClickException) -> int:
    """Tell what is wrong with the command line; help that nobody asked for is shown as it is."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    else:
        _say(one_line(error.format_message()))
    return error.exit_code


def _refused_by_the_machine(error: OSError) -> tuple[str, int]:
    """Return message and exit code: a file that cannot be used is input, a full disk is not."""
    what = error.strerror or str(error)
    if error.filename is None:
        return f"the machine refused: {what}", OutsideError.exit_code
    return f"{error.filename}: {what}; check the path and its permissions", InputError.exit_code


def _fail(message: str, code: int = OWN_FAULT, *, debug: bool) -> int:
    if debug:
        import traceback

        with suppress(OSError):
            traceback.print_exc()
    _say(message)
    return code


def _say(message: str) -> None:
    """Write an error; characters that would move the terminal's cursor are shown as marks."""
    shown = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in message)
    with suppress(OSError):  # where not even this can be told, the exit code still tells
        click.echo(f"searchmark: error: {shown}", err=True)
