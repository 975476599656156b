"""A suite of Great Expectations for the orders, which they do not meet."""

import great_expectations as gx
from great_expectations import expectations as expect


def cheap():
    suite = gx.ExpectationSuite(name="cheap")
    suite.add_expectation(expect.ExpectColumnValuesToBeBetween(column="amount", max_value=100))
    return suite
