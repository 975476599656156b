"""A user's module that cannot be imported."""

raise ZeroDivisionError("its author divided")
