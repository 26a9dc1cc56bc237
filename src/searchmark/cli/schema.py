"""``searchmark schema``: what a project file may hold."""

import click


@click.command()
def schema() -> None:
    """Print the JSON schema of the project file, for editors and generators."""
    import msgspec

    from searchmark.project import project_schema

    click.echo(msgspec.json.format(msgspec.json.encode(project_schema()), indent=2).decode())
