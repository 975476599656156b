"""Suites of Great Expectations for the orders, each as a function that builds it."""

import great_expectations as gx
from great_expectations import expectations as expect


def sent():
    suite = gx.ExpectationSuite(name="sent")
    suite.add_expectation(expect.ExpectColumnValuesToNotBeNull(column="at"))
    suite.add_expectation(expect.ExpectTableRowCountToEqual(value=4000))
    return suite


def cheap():
    at_most = {"column": "amount", "max_value": 100}
    return {"expectations": [{"type": "expect_column_values_to_be_between", "kwargs": at_most}]}
