"""Compare: whether two multisets of rows are equal, and if not, in what.

A row that should be there and is not is `lost`; a copy too many is `duplicated`; a row whose key
was never expected is `unexpected`; one whose key is right in number and wrong in value is
`changed`. Every row of a side is counted once: the expected ones are matched, lost or changed, the
observed ones matched, duplicated, unexpected or changed.
"""

from onceproof.comparison.comparing import compare
from onceproof.comparison.found import CLASSES, Differences

__all__ = ["CLASSES", "Differences", "compare"]
