"""What finding a scenario takes: no client of Kafka."""

import subprocess
import sys

WITHOUT_CLIENTS = """
import sys

class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "confluent_kafka":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from onceproof.scenario import load_catalogue
print(*sorted({one.workload.options["client"] for one in load_catalogue()}))
"""


def test_the_whole_catalogue_is_read_where_no_confluent_kafka_is_installed():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CLIENTS], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("confluent kafka-python\n", "")
