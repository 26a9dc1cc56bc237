"""``searchmark init``: a project file that runs at once, written for the data in a folder."""

from pathlib import Path

import click

from searchmark.cli.output import say


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option("--force", is_flag=True, help="Overwrite a project file that is there.")
def init(folder: Path, *, force: bool) -> None:
    """Look at the data in FOLDER (or in its data/) and write a commented searchmark.toml."""
    from searchmark.data.files import write_text_atomically
    from searchmark.errors import InputError
    from searchmark.project import FILE_NAME, read_project
    from searchmark.project.starter import find_data, starter_text

    target = folder / FILE_NAME
    if target.exists() and not force:
        raise InputError(
            "there is a project file already", path=target, fix="use --force to replace it"
        )
    found = find_data(folder)
    write_text_atomically(target, starter_text(found))
    project = read_project(target)
    say(f"written: {target}, with the systems {', '.join(project.systems)}")
    for guess in found.guesses:
        say(f"guessed: {guess}")
    say(f"next: searchmark run {folder}")
