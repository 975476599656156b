"""The judge: whether two multisets of rows are equal, and if not, in what.

A row that should be there and is not is `lost`; a copy too many is `duplicated`; a row whose key was
never expected is `unexpected`; one whose key is right in number and wrong in value is `changed`. For
each side every row is counted once: those of the expected side are matched, lost or changed, those
of the observed side matched, duplicated, unexpected or changed.
"""

from onceproof.judge.comparison import compare
from onceproof.judge.found import CLASSES, Differences

__all__ = ["CLASSES", "Differences", "compare"]
