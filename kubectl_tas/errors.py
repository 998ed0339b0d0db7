"""The failure to do one's work: what is raised, as opposed to what is found in the input."""


class TasError(Exception):
    """The tool could not do its work (an unreadable folder, a full disk): exit code 3.

    ``message`` says what failed in one sentence, ``hint`` what the user can do about it.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
