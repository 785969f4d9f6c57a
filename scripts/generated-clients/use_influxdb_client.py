"""Calls a running service (ENTITY_METRICS_URL, ENTITY_METRICS_KEY) with InfluxDB's own client."""

import os
import warnings

from influxdb_client import InfluxDBClient
from influxdb_client.client.write_api import SYNCHRONOUS

warnings.simplefilter("ignore", DeprecationWarning)
with InfluxDBClient(url=os.environ["ENTITY_METRICS_URL"], token=os.environ["ENTITY_METRICS_KEY"], org="any") as client:
    health = client.health()
    assert (health.name, health.status) == ("entity-metrics", "pass"), health
    assert client.ping() and client.version().startswith("entity-metrics-")
    client.write_api(write_options=SYNCHRONOUS).write("any", record="segment,dimension_id=influx value=3")
