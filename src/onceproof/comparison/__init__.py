"""The comparison of two multisets of rows.

A missing row is `lost`; a copy too many is `duplicated`; a row whose key was never expected is
`unexpected`; a row with an expected key and a wrong value is `changed`. Every row of a side is
counted once: an expected row is matched, lost or changed, an observed row matched, duplicated,
unexpected or changed.
"""

from onceproof.comparison.comparing import compare
from onceproof.comparison.result import CLASSES, Differences

__all__ = ["CLASSES", "Differences", "compare"]
