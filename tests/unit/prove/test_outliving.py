"""What outlives the tests is named, however it hides; what others have started is not."""

import subprocess
import sys

LOOKS = """
import subprocess
from onceproof.machine.polling import wait_for
from tests.outliving import begin, outliving, describe
begin()
assert outliving() == []
hides = 'setsid env -i sh -c "ulimit -S -m 9; cd /; exec sleep 60" >/dev/null 2>&1 & echo $!'
done = subprocess.run(["sh", "-c", hides], stdout=subprocess.PIPE, text=True, check=True)
(found,) = outliving()
assert found.pid == int(done.stdout)
wait_for(lambda: found.arguments() == ["sleep", "60"], 5, "it does not hide")
print(describe(found))
found.send(9)
"""


def test_a_process_that_hides_is_named_and_a_strangers_is_not():
    with subprocess.Popen(["sleep", "60"]) as stranger:
        done = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True)
        stranger.kill()
    assert done.stderr == ""
    assert done.stdout.endswith("in /: sleep 60\n")


def test_a_process_without_its_own_limit_is_refused():
    command = ["sh", "-c", 'ulimit -m 9; exec "$0" -m tests.outliving', sys.executable]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "hard limit 9216 of the resident set" in done.stderr
