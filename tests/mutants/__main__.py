"""`python -m tests.mutants`: writes docs/mutants.md anew."""

from tests.mutants.page import PAGE, page

PAGE.write_text(page())
