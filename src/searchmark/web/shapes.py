"""The answers as the OpenAPI document tells them."""

from pydantic import BaseModel, ConfigDict, Field


class Resource(BaseModel):
    """A document of the catalog: its id, its own fields that hold something, its score."""

    model_config = ConfigDict(extra="allow")

    resource: str = Field(description="The document's id.")
    score: float = Field(
        default=0.0, description="Greater is better; only comparable within one answer."
    )
    bestText: str = Field(  # noqa: N815 - the API's own spelling
        default="", description="The text of the document that is nearest in meaning, where known."
    )


class Listed(BaseModel):
    """A document of the catalog: its id and its own fields that hold something."""

    model_config = ConfigDict(extra="allow")

    resource: str = Field(description="The document's id.")


class SearchPage(BaseModel):
    """A page of a ranking, best first."""

    resources: list[Resource]
    partialResults: bool = Field(  # noqa: N815
        description="The search by meaning did not take part, or not with all documents."
    )
    total: int | None = Field(ge=0, description="How many were found; null where nobody counted.")
    nextCursor: str | None = Field(  # noqa: N815
        description="Gives the next page of the same request; null on the last one."
    )


class ResourcePage(BaseModel):
    """A page of the catalog by ascending id."""

    resources: list[Listed]
    partialResults: bool = Field(description="Always false: listing needs no vectors.")  # noqa: N815
    total: int | None = Field(ge=0, description="How many pass the filters; null if not counted.")
    nextCursor: str | None = Field(  # noqa: N815
        description="Gives the next page of the same request; null on the last one."
    )


class HealthReport(BaseModel):
    """How the service is; without the token, where there is one, the first two members alone."""

    status: str = Field(pattern="^(ok|partial)$", description="partial: see partialResults.")
    partialResults: bool = Field(description="Whether a search would be partial now.")  # noqa: N815
    dense: str = Field(
        default="", description="ok, none where no vectors are used, or why it is missing."
    )
    documents: int = Field(default=0, ge=0)
    vectors: int = Field(default=0, ge=0)
    waiting: int = Field(default=0, ge=0, description="Documents that wait to be embedded.")
    dead: int = Field(default=0, ge=0, description="Documents that could not be embedded.")
    generation: str = Field(default="", description="What the vectors were made by.")
    system: str = Field(default="", description="The system of the project that is served.")
    version: str = ""


class ErrorReport(BaseModel):
    """What is wrong, and what to do about it."""

    error: str = Field(description="One sentence.")
