"""The commands and their arguments, for typer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lucid.cli import streams
from lucid.cli.exits import epilog
from lucid.cli.screen import Outcome, Screen, envelope, failure, report
from lucid.errors import UsageError

__all__ = ["app", "run"]

_CLICK_EXCEPTION: type[Exception] = typer.BadParameter.__mro__[2]  # typer carries its own copy of click since 0.26
Command = Callable[[], int]  # the parser gives it back, and it runs where the parser no longer catches its errors
COMMANDS = ("build", "check", "run", "inspect", "verify")

MOST_CALLS = 1_000_000

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Traceback = Annotated[bool, typer.Option("--traceback", help="Show where in the code an error arose.")]
Specs = Annotated[list[str], typer.Argument(metavar="SPEC...", help="TOML files.", show_default=False)]
PackagePath = Annotated[Path, typer.Argument(metavar="PACKAGE", help="An .mlpackage folder.", show_default=False)]

app = typer.Typer(
    name="lucid",
    help="A TOML spec in, a verified and reproducible Core ML package out, on any machine.",
    epilog=epilog(),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def run(arguments: list[str]) -> int:
    """Parse `arguments`, run their command and return the exit code."""
    outputs = sys.stdout, sys.stderr
    try:
        found = app(arguments, prog_name="lucid", standalone_mode=False)
    except _CLICK_EXCEPTION as error:
        return _misused(error, arguments)
    except OSError as error:  # the parser writes nothing but help and version
        raise streams.OutputError(error) from error
    except SystemExit as error:  # what click and rich make of a reader that has gone away
        if isinstance(error.__context__, OSError):
            raise streams.OutputError(error.__context__) from error
        raise
    finally:
        sys.stdout, sys.stderr = outputs  # click puts something else there
    return found() if callable(found) else int(found or 0)


def _misused(error: Exception, arguments: list[str]) -> int:
    """Report that the command line does not parse."""
    if not arguments:  # the help is already on the screen
        return UsageError.code
    usage = UsageError(str(getattr(error, "format_message", error.__str__)()))
    command = next((each for each in arguments if each in COMMANDS), None)
    Screen().complain(usage)
    context = getattr(error, "ctx", None)
    if context is not None:
        streams.tell(f"{context.get_usage()}\nTry {context.command_path} --help.")
    if "--json" in arguments:
        streams.say(envelope(command, None, failure(usage)))
    return usage.code


def _version(wanted: bool) -> None:
    if wanted:
        from lucid.cli.version import version

        typer.echo(f"lucid {version()}")
        raise typer.Exit


@app.callback()
def _lucid(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def build(
    specs: Specs,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory", "-d", metavar="FOLDER", help="Folder for the results of one spec, instead of the spec's own."
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> Command:
    """Build packages from specs, and run each against its original model.

    Every spec gives a folder with the .mlpackage, its manifest.json and golden.npz. A failed build leaves what was
    there before.
    """
    screen = Screen(json, quiet, traceback)

    def body() -> Outcome:
        if directory is not None and len(specs) > 1:
            raise UsageError(f"--directory holds the results of one spec, and {len(specs)} are given.")
        from lucid.cli.build import build_all

        return build_all(specs, directory, screen)

    return partial(report, "build", screen, body)


@app.command()
def check(specs: Specs, json: Json = False, quiet: Quiet = False, traceback: Traceback = False) -> Command:
    """Check specs without loading anything that they name."""
    from lucid.cli.check import check as check_all

    screen = Screen(json, quiet, traceback)
    return partial(report, "check", screen, lambda: check_all(specs, screen))


@app.command(name="run")
def run_package(
    package: PackagePath,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="NAME=VALUE",
            help="An input's value: a .npy, .npz, .safetensors or .json file, a number or nested list, or a picture "
            "(.png, .jpg, .bmp). A file with one axis more than the input holds one entry a call. Once per input.",
            show_default=False,
        ),
    ] = None,
    function: Annotated[
        str | None,
        typer.Option("--function", "-f", metavar="NAME", help="The function to run, where there are several."),
    ] = None,
    calls: Annotated[
        int, typer.Option("--calls", "-n", min=1, max=MOST_CALLS, help="How many calls to make; states carry over.")
    ] = 1,
    output_dir: Annotated[
        Path | None, typer.Option("--output-dir", "-o", metavar="FOLDER", help="Write call_0.npz, call_1.npz, … there.")
    ] = None,
    print_values: Annotated[bool, typer.Option("--print", "-p", help="Print the values of the outputs.")] = False,
    timing: Annotated[bool, typer.Option("--timing", "-t", help="Say how long the calls took.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> Command:
    """Run a package on given inputs, on this machine."""
    screen = Screen(json, quiet, traceback)

    def body() -> Outcome:
        from lucid.cli.run import run_calls

        return run_calls(package, function, inputs or [], calls, output_dir, print_values, timing, screen)

    return partial(report, "run", screen, body)


@app.command()
def inspect(package: PackagePath, json: Json = False, quiet: Quiet = False, traceback: Traceback = False) -> Command:
    """Show what a package takes, gives, keeps and is made of."""
    screen = Screen(json, quiet, traceback)

    def body() -> Outcome:
        from lucid.cli.inspect import inspect_package

        return inspect_package(package, screen)

    return partial(report, "inspect", screen, body)


@app.command()
def verify(
    directory: Annotated[
        Path, typer.Argument(metavar="PATH", help="The folder of a build, or the .mlpackage in it.", show_default=False)
    ],
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> Command:
    """Compare a build with its manifest, and repeat its golden check without the source model."""
    screen = Screen(json, quiet, traceback)

    def body() -> Outcome:
        from lucid.cli.verify import verify_build

        return verify_build(directory, screen)

    return partial(report, "verify", screen, body)
