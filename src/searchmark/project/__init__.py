"""The project file, `searchmark.toml`: decoded strictly, every problem told at once."""

from searchmark.project.file import FILE_NAME, Project, ProjectFile, read_project
from searchmark.project.schema import project_schema

__all__ = ["FILE_NAME", "Project", "ProjectFile", "project_schema", "read_project"]
