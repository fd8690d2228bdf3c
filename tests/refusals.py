"""What bad input is answered with."""

import pytest

from core.errors import RagdollError


def refuses(message: str, function, *arguments, **options) -> None:
    """A call raises an error for users whose text matches."""
    with pytest.raises(RagdollError, match=message):
        function(*arguments, **options)
