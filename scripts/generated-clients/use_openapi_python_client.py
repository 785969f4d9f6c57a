"""Calls a running service (ENTITY_METRICS_URL, ENTITY_METRICS_KEY) with the client that openapi-python-client made."""

import os
import time
from io import BytesIO

from entity_metrics_client import AuthenticatedClient, models
from entity_metrics_client.api.catalogue import put_segment
from entity_metrics_client.api.collecting import collect_messages
from entity_metrics_client.api.deletion import read_deletion_receipt
from entity_metrics_client.api.entities import export_entity, read_entity
from entity_metrics_client.api.metrics import fetch_metrics, write_line_protocol, write_points
from entity_metrics_client.api.operations import check_health
from entity_metrics_client.types import File

client = AuthenticatedClient(base_url=os.environ["ENTITY_METRICS_URL"], token=os.environ["ENTITY_METRICS_KEY"])
ts = int(time.time()) // 7200 * 7_200_000
series = {"dimension": "segment", "dimension_id": "opc", "dimension_type": "size"}

point = models.Point.from_dict({**series, "value": 3.5, "ts": ts})
assert write_points.sync(client=client, body=[point]).data.point_count == 1
precision = models.WriteLineProtocolPrecision.MS
lines = File(payload=BytesIO(f"segment,dimension_id=line-opc value=2 {ts}".encode()))
assert write_line_protocol.sync_detailed(client=client, body=lines, precision=precision).status_code == 204

asked = [{**series, "startdate": "now-1d", "name": None}, {**series, "dimension_type": "conversionrate"}]
answer = fetch_metrics.sync(client=client, body=[models.SeriesRequest.from_dict(one) for one in asked])
good, bad = answer.data
assert good.values[-1].value == 3.5 and not good.errors, good
assert bad.values == [] and bad.errors[0].path == "[1].dimension_type", bad

messages = [
    {"_uid": "opc", "segments": ["a", "b"]},
    {"_uid": "opc", "segments": {"add": ["c"], "remove": ["b"]}},
    {"city": "x"},
]
tally = collect_messages.sync("web", client=client, body=[models.MessageInput.from_dict(one) for one in messages]).data
assert tally.message_count == 2 and tally.errors[0].code == "no_identity", tally
assert read_entity.sync("user", "_uid", "opc", client=client).data.segments == ["a", "c"]
assert put_segment.sync("a", client=client, body=models.SegmentInput(name=None)).data.name == "a"
assert check_health.sync(client=client).status == "pass"

# Responses that are not JSON have no type in this client; only their bytes are available.
identity = models.IdentityInput(table="user", field="_uid", value="opc")
exported = export_entity.sync_detailed(client=client, body=identity)
assert exported.status_code == 200 and len(exported.content.strip().split(b"\n")) == 4, exported
receipt = read_deletion_receipt.sync_detailed("0123456789abcdef0123-1", client=client)
assert receipt.status_code == 404 and receipt.parsed.errors[0].code == "not_found", receipt
