"""`python -m tests.mutants`: writes docs/explanation/mutants.md anew."""

from tests.mutants.page import PAGE, page

PAGE.write_text(page())
