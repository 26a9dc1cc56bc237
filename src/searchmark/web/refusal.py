"""What is answered instead of results: a status and one sentence."""

from collections.abc import Mapping

from searchmark.errors import one_line


class Refused(Exception):  # noqa: N818 - no fault of the program, but an answer
    """A request that is answered with an error; `after_s` is when it may go well."""

    def __init__(
        self,
        status: int,
        sentence: str,
        *,
        after_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.sentence, self.after_s = status, one_line(sentence), after_s
        self._headers = dict(headers or {})
        super().__init__(self.sentence)

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the answer."""
        if self.after_s is None:
            return self._headers
        return self._headers | {"Retry-After": str(max(1, round(self.after_s + 0.499)))}
