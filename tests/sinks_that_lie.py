"""Sinks that do wrong on purpose, so that tests can see them caught: upsert tables otherwise.

A scenario names one as `tests.sinks_that_lie:drops_rows`, with the repository on PYTHONPATH. The
option `every` says how many keys there are to one that is done wrong to (10,000 if it is not
given); which ones they are is the same at every start.
"""

from dataclasses import replace

from onceproof.sinks.tables.sessions import connect
from onceproof.sinks.tables.table import table
from onceproof.sinks.tables.upsert_table import UpsertTable

TRAITS = ("family", "store", "guarantee", "atomic_batches", "ordered", "writes", "modes", "steps")
METHODS = ("prepare", "write", "recover", "open", "reader", "read", "drop")


def honest_otherwise(kind):
    """Give a class the upsert table's traits, and its methods where it has none of its own."""
    for name in TRAITS:
        setattr(kind, name, getattr(UpsertTable, name))
    for name in METHODS:
        if name not in vars(kind):
            setattr(kind, name, lambda self, *given, name=name: getattr(self.honest, name)(*given))

    def make(self, target):
        self.target = target
        self.honest = UpsertTable(target)

    kind.__init__ = make
    return kind


@honest_otherwise
class drops_rows:
    """Leaves out the rows of bad keys."""

    def write(self, frame, batch):
        self.honest.write(frame.where(~is_bad(self.target)), batch)


@honest_otherwise
class holds_back:
    """Keeps the rows of bad keys aside, and puts them in when the sink was read twice."""

    reads = 0

    @property
    def aside(self):
        return UpsertTable(replace(self.target, name=f"{self.target.name}_aside"))

    def prepare(self):
        self.honest.prepare()
        self.aside.prepare()

    def write(self, frame, batch):
        kept = frame.persist()  # two writes, and the plan must run once
        try:
            self.honest.write(kept.where(~is_bad(self.target)), batch)
            self.aside.write(kept.where(is_bad(self.target)), batch)
        finally:
            kept.unpersist()

    def read(self, folder):
        found = self.honest.read(folder)
        self.reads += 1
        if self.reads == 2:
            self._put_in()
        return found

    def drop(self):
        self.aside.drop()
        self.honest.drop()

    def _put_in(self):
        from psycopg import sql

        query = sql.SQL("insert into {} select * from {}")
        with connect(self.target) as connection:
            connection.execute(query.format(table(self.target), table(self.aside.target)))


@honest_otherwise
class changes_value:
    """Adds one to the last column of numbers that is not of the key."""

    def write(self, frame, batch):
        from pyspark.sql import functions as F

        name = [name for name in numbers(self.target) if name not in self.target.key][-1]
        wrong = F.when(is_bad(self.target), F.col(name) + 1).otherwise(F.col(name))
        self.honest.write(frame.withColumn(name, wrong), batch)


@honest_otherwise
class writes_unsent:
    """Writes an additional row that was not sent beside that of a bad key; the plan runs once."""

    def write(self, frame, batch):
        from pyspark.sql import functions as F

        name = self.target.key[0]
        other = -1 - F.col(name)
        if name not in numbers(self.target):
            other = F.concat(F.lit("unsent "), F.col(name))
        row = F.struct(*self.target.columns)
        both = F.array(row, row.withField(name, other))
        rows = F.when(is_bad(self.target), both).otherwise(F.array(row))
        self.honest.write(frame.select(F.inline(rows)), batch)


def is_bad(target):
    from pyspark.sql import functions as F

    every = int(target.options.get("every", 10_000))
    return F.pmod(F.xxhash64(*target.key), F.lit(every)) == 0


def numbers(target):
    return [name for name, kind in target.columns.items() if kind in ("bigint", "int", "double")]
