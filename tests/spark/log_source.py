"""A source for streams in tests: a ledger's parquet, with offsets in Kafka's format."""

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadMaxRows

COLUMNS = "id", "producer", "key", "seq", "event_ms", "amount"


class Slice(InputPartition):
    def __init__(self, partition, start, end):
        super().__init__(None)
        self.partition, self.start, self.end = partition, start, end


class LedgerSource(DataSource):
    @classmethod
    def name(cls):
        return "ledger"

    def schema(self):
        return "id long, producer int, key string, seq long, event_ms long, amount long"

    def streamReader(self, schema):
        return LedgerReader(self.options["path"], int(self.options["limit"]))


class LedgerReader(DataSourceStreamReader):
    def __init__(self, path, limit):
        import pyarrow.parquet as parquet

        self.limit = limit
        table = parquet.read_table(path, filters=[("ack", "=", "ok")])
        self.topic = table["topic"][0].as_py()
        self.rows = {}
        for row in sorted(table.to_pylist(), key=lambda row: row["offset"]):
            self.rows.setdefault(str(row["partition"]), []).append(row)

    def initialOffset(self):
        return {self.topic: dict.fromkeys(self.rows, 0)}

    def getDefaultReadLimit(self):
        return ReadMaxRows(self.limit)

    def latestOffset(self, start, limit):
        ends = start[self.topic]
        share = self.limit // len(self.rows)
        return {self.topic: {p: min(at + share, len(self.rows[p])) for p, at in ends.items()}}

    def partitions(self, start, end):
        before, ends = start[self.topic], end[self.topic]
        return [Slice(p, before[p], ends[p]) for p in sorted(ends) if ends[p] > before[p]]

    def read(self, part):
        for row in self.rows[part.partition][part.start : part.end]:
            yield tuple(row[name] for name in COLUMNS)


class RecordSource(LedgerSource):
    """The same source with the values of the records, as a job reads them."""

    @classmethod
    def name(cls):
        return "records"

    def schema(self):
        return "value string"

    def streamReader(self, schema):
        return RecordReader(self.options["path"], int(self.options["limit"]))


class RecordReader(LedgerReader):
    def read(self, part):
        for row in self.rows[part.partition][part.start : part.end]:
            yield (row["payload"],)
