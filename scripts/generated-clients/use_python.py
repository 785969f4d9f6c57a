"""Calls a running service (ENTITY_METRICS_URL, ENTITY_METRICS_KEY) with the client that the python generator made."""

import os
import time

import openapi_client as api
from openapi_client.rest import ApiException

configuration = api.Configuration(
    host=os.environ["ENTITY_METRICS_URL"], api_key={"key": os.environ["ENTITY_METRICS_KEY"]}
)
ts = int(time.time()) // 7200 * 7_200_000
series = {"dimension": "segment", "dimension_id": "python", "dimension_type": "size"}

with api.ApiClient(configuration) as client:
    metrics = api.MetricsApi(client)
    assert metrics.write_points([api.Point(**series, value=3.5, ts=ts)]).data.point_count == 1
    metrics.write_line_protocol(f"segment,dimension_id=line-python value=2 {ts}", precision="ms")
    good, bad = metrics.fetch_metrics(
        [
            api.SeriesRequest(**series, startdate="now-1d", name=None, aggregation=None),
            api.SeriesRequest(**{**series, "dimension_type": "conversionrate"}),
        ]
    ).data
    assert good.values[-1].value == 3.5 and good.errors is None, good
    assert bad.values == [] and bad.errors[0].path == "[1].dimension_type", bad

    collecting = api.CollectingApi(client)
    messages = [{"_uid": "python", "segments": ["a", "b"]}, {"_uid": "python", "city": None}, {"city": "x"}]
    tally = collecting.collect_messages("web", [api.MessageInput.from_dict(one) for one in messages]).data
    assert tally.message_count == 2 and tally.errors[0].code == "no_identity", tally
    change = {"_uid": "python", "segments": {"add": ["c"], "remove": ["b"]}}
    collecting.collect_messages("web", [api.MessageInput.from_dict(change)])

    entities = api.EntitiesApi(client)
    assert entities.read_entity("user", "_uid", "python").data.segments == ["a", "c"]
    exported = entities.export_entity(api.IdentityInput(table="user", field="_uid", value="python"))
    assert len(exported.strip().split(b"\n")) == 5, exported
    assert api.CatalogueApi(client).put_segment("a", api.SegmentInput(name=None, table="user")).data.name == "a"
    assert api.OperationsApi(client).check_health().status == "pass"

    try:
        api.DeletionApi(client).read_deletion("0123456789abcdef0123-1")
        raise AssertionError("There is no such deletion")
    except ApiException as error:
        assert error.status == 404 and error.data.errors[0].code == "not_found", error
