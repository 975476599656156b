"""What Onceproof raises on purpose; everything else that escapes is a defect."""


class OnceproofError(Exception):
    """Root of every error of this package; its text is one sentence for a person.

    The sentence says the value that was met, what is wrong with it, and what to do.
    """


class RequestError(OnceproofError):
    """The request itself was wrong, so nothing was started or changed; the command exits with 3."""


class StackError(OnceproofError):
    """The stack did not do what was asked of it in time; the command exits with 2."""


class EngineError(OnceproofError):
    """The process that compares two sides crashed or was killed; the command exits with 2."""


class EvidenceError(OnceproofError):
    """Evidence of a run is missing, unreadable or contradicts itself; the judge says UNKNOWN."""
