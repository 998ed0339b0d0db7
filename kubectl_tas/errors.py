"""The exception for failures of the tool itself, as opposed to findings about the input."""


class TasError(Exception):
    """The tool could not do its work (an unreadable folder, a full disk): exit code 3.

    ``message`` says what failed in one sentence; ``hint`` says what the user can do.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
