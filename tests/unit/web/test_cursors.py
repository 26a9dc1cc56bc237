import base64

import pytest

from searchmark.web.cursors import Cursors, Position

CURSORS = Cursors(b"key")


@pytest.mark.parametrize(
    "position", [Position(20), Position(0, True), Position("https://x.example/ä?b=1")]
)
def test_a_cursor_gives_its_position_back(position: Position) -> None:
    cursor = CURSORS.write(position, "scope")
    assert CURSORS.read(cursor, "scope") == position
    assert cursor.replace("-", "").replace("_", "").isalnum()


def test_a_cursor_belongs_to_its_request_and_to_its_service() -> None:
    cursor = CURSORS.write(Position(20), "scope")
    assert CURSORS.read(cursor, "other scope") is None
    assert Cursors(b"other key").read(cursor, "scope") is None


def test_no_changed_cursor_is_taken() -> None:
    cursor = CURSORS.write(Position(20), "scope")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for place in range(len(cursor)):
        for letter in letters:
            changed = cursor[:place] + letter + cursor[place + 1 :]
            if changed != cursor:
                assert CURSORS.read(changed, "scope") is None, changed
    for changed in (cursor[:-1], cursor + "A", cursor + "=", cursor + "!", " " + cursor, ""):
        assert CURSORS.read(changed, "scope") is None, changed


def test_a_position_that_somebody_wrote_himself_is_not_taken() -> None:
    raw = base64.urlsafe_b64decode(CURSORS.write(Position(20), "s") + "==")
    forged = base64.urlsafe_b64encode(raw.replace(b"20", b"40")).decode().rstrip("=")
    assert CURSORS.read(forged, "s") is None
