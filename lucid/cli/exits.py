"""The exit codes of the command line and what they mean: one table for the help text and the reference."""

__all__ = ["EXITS", "epilog"]

EXITS: dict[int, str] = {
    0: "ok",
    2: "the command line is not understood or cannot be followed",
    3: "a spec is not valid",
    4: "a model cannot be loaded or traced",
    5: "refused: state, mutation, or something Core ML cannot express",
    6: "the golden check failed",
    7: "a package cannot be read",
    8: "files differ from their manifest, or a build is not reproducible",
    70: "lucid itself is at fault",
    129: "the terminal went away (SIGHUP); cleaned up as after Ctrl-C",
    130: "interrupted",
    141: "the reader of the output went away",
    143: "terminated (SIGTERM); cleaned up as after Ctrl-C",
}


def epilog() -> str:
    """Return the table as the last paragraph of the help text."""
    return "Exit codes:\n\n" + "\n".join(f"{code:>3}  {meaning}" for code, meaning in EXITS.items())
