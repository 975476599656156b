"""A secret in plain text in a scenario file is refused, and never repeated."""

import pytest

from onceproof.errors import RequestError
from onceproof.job.needs import variables_of
from onceproof.phases.plan import make_plan
from onceproof.runs.plan import Plan
from onceproof.scenario.catalogue import load_catalogue, read_text
from onceproof.scenario.plain_secrets import secret_in
from onceproof.variables import with_fields

JOB = """
name: orders__table__calm
sink: {sink}
pipeline:
  command: {command}
  reference: each_once
  key: [order_id]
  env: {env}
workload: {{name: template, value: {{order_id: id}}, events: 10}}
"""
COMMAND = '["{python}", "{here}/job.py", "{bootstrap}", "{topic}", "{checkpoint}"]'
SECRETS = [
    ("DB_PASSWORD", "hunter2"),
    ("DB_PASSWORD", 12345),
    ("PGPASSWORD", "hunter2"),
    ("db.password", "hunter2"),
    ("dbPassword", "hunter2"),
    ("CLIENT_SECRET", "hunter2"),
    ("fs.s3a.secret.key", "hunter2"),
    ("API_KEY", "hunter2"),
    ("STRIPE_KEY", "a1b2c3d4e5f6g7"),
    ("GITHUB_TOKEN", "a1b2c3d4e5f6g7"),
    ("kafka.sasl.jaas.config", "org.apache.PlainLoginModule required username=u"),
    ("CONFIG", 'x.PlainLoginModule required username="u" password="hunter2";'),
    ("URL", "postgresql://me:hunter2@db/shop"),
    ("URL", "https://:hunter2@host/"),
    ("URL", "jdbc:postgresql://db/shop?user=me&password=hunter2"),
    ("URL", "postgresql://${WHO}:hunter2@db/shop"),
    ("ANY", "AKIAIOSFODNN7EXAMPLE"),
    ("ANY", "-----BEGIN RSA PRIVATE KEY-----\nMIIE"),
    ("ANY", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
    ("ANY", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"),
    ("ANY", "wJalrXUtnFEMI2K7MDENGxbPxRfiCYEXAMPLEKEY9"),
]
ORDINARY = [
    ("DB_PASSWORD", "${DB_PASSWORD}"),
    ("DB_PASSWORD", ""),
    ("DB_PASSWORD_FILE", "/run/secrets/db"),
    ("SECRET_NAME", "orders"),
    ("USE_PASSWORD", True),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("MAX_TOKENS", 512),
    ("AWS_ACCESS_KEY_ID", "${AWS_ACCESS_KEY_ID}"),
    ("ssl.truststore.location", "/etc/ca.jks"),
    ("ssl.key.location", "/etc/key.pem"),
    ("sasl.oauthbearer.token.endpoint.url", "https://login.example/token"),
    ("partition.key", "order_id"),
    ("key", "value.order_id"),
    ("ROW_KEY", "customer_orders_2024"[:11]),
    ("kafka.sasl.jaas.config", 'x.ScramLoginModule required username="u" password="${P}";'),
    ("URL", "postgresql://me:${P}@db/shop?sslmode=require"),
    ("URL", "postgresql://me@db:5432/shop"),
    ("URL", "jdbc:postgresql://db/shop?user=me&password=${P}"),
    ("URL", "s3a://bucket/a:b@c"),
    ("COMMIT", "cae221d3b1f0a9c2d4e6f8a0b2c4d6e8f0a1b2c3"),
    ("UUID", "123e4567-e89b-12d3-a456-426614174000"),
    ("CLASS", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"),
    ("ANY", "copy_events__two_phase_table__kill_executors_1234"),
    ("JAVA_TOOL_OPTIONS", "-Dfile.encoding=UTF-8 -Xmx512m"),
    ("RUN", "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"),
]


def read(sink="table", command=COMMAND, env="{}"):
    return read_text(JOB.format(sink=sink, command=command, env=env), "orders.yaml")


@pytest.mark.parametrize(("name", "value"), SECRETS)
def test_a_secret_is_recognized_by_its_name_or_form(name, value):
    assert secret_in(name, value)
    assert "hunter2" not in secret_in(name, value)


@pytest.mark.parametrize(("name", "value"), ORDINARY)
def test_an_ordinary_value_is_no_secret(name, value):
    assert secret_in(name, value) == ""


@pytest.mark.parametrize(
    ("where", "line", "given"),
    [
        ("pipeline.env.DB_PASSWORD", 8, {"env": "{DB_PASSWORD: hunter2}"}),
        ("sink.ssl.key.password", 3, {"sink": "{name: topic, ssl.key.password: hunter2}"}),
        ("pipeline.command[2]", 5, {"command": '["{python}", "--password", "hunter2"]'}),
        ("pipeline.command[1]", 5, {"command": '["{python}", "--db-password=hunter2"]'}),
        ("pipeline.command[2]", 5, {"command": '[a, --conf, "spark.fs.secret.key=hunter2"]'}),
        ("pipeline.command[1]", 5, {"command": '[a, "--url=postgresql://u:hunter2@db/x"]'}),
    ],
)
def test_it_is_refused_with_its_place_and_how_to_write_it(where, line, given):
    with pytest.raises(RequestError) as refused:
        read(**given)
    assert f"orders.yaml:{line}: {where}: " in str(refused.value)
    assert "write ${NAME} instead, and set NAME" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_variables_replace_secrets_everywhere():
    (one,) = read(
        sink='{name: table, create: "create table {target} (a int)"}',
        command='["{python}", "{here}/job.py", "--password", "${P}", "--url=jdbc:x?password=${P}"]',
        env='{DB_PASSWORD: "${P}", URL: "postgresql://u:${P}@db/x"}',
    )
    assert one.job.command[3:] == ("${P}", "--url=jdbc:x?password=${P}")


def test_no_scenario_of_the_catalogue_is_refused():
    assert load_catalogue()


def test_a_pipeline_of_the_catalogue_gets_the_names_and_resolves_them(tmp_path):
    (one,) = read_text(
        """
name: copy_events__append_topic__calm
pipeline: copy_events
sink: {name: append_topic, kafka.sasl.password: "${SINK_WORD}"}
source_options: {kafka.sasl.jaas.config: 'x.Login required password="${SOURCE_WORD}";'}
""",
        "ours.yaml",
    )
    fields = [with_fields(word) for word in one.job.command]
    words = [word.replace("{{", "{").replace("}}", "}") for word in fields]
    assert "kafka.sasl.password=${SINK_WORD}" in words
    assert 'kafka.sasl.jaas.config=x.Login required password="${SOURCE_WORD}";' in words
    run = make_plan(one, 1, tmp_path)
    assert variables_of(Plan.read(run.plan)) == variables_of(one) == ["SINK_WORD", "SOURCE_WORD"]
