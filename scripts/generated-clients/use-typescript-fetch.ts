// Calls a running service (ENTITY_METRICS_URL, ENTITY_METRICS_KEY) with the typescript-fetch client in this folder.
import {
  CatalogueApi,
  CollectingApi,
  Configuration,
  DeletionApi,
  EntitiesApi,
  MetricsApi,
  OperationsApi,
  PointDimensionTypeEnum,
  ResponseError,
  SeriesRequestDimensionTypeEnum,
} from "./index";

const { ENTITY_METRICS_URL = "", ENTITY_METRICS_KEY = "" } = process.env;
const configuration = new Configuration({ basePath: ENTITY_METRICS_URL, apiKey: ENTITY_METRICS_KEY });
const metrics = new MetricsApi(configuration);
const ts = Math.floor(Date.now() / 7_200_000) * 7_200_000;
const series = { dimension: "segment", dimensionId: "typescript-fetch" } as const;

const written = await metrics.writePoints({
  point: [{ ...series, dimensionType: PointDimensionTypeEnum.Size, value: 3.5, ts }],
});
expect(written.data.pointCount, 1);
await metrics.writeLineProtocol({ body: `segment,dimension_id=line-typescript value=2 ${ts}`, precision: "ms" });

const { data } = await metrics.fetchMetrics({
  seriesRequest: [
    {
      ...series,
      dimensionType: SeriesRequestDimensionTypeEnum.Size,
      startdate: "now-1d",
      name: null,
      aggregation: null,
    },
    { ...series, dimensionType: SeriesRequestDimensionTypeEnum.Conversionrate },
  ],
});
expect(data[0]?.values.at(-1)?.value, 3.5);
expect(data[0]?.errors, undefined);
expect(data[1]?.values.length, 0);
expect(data[1]?.errors?.[0]?.path, "[1].dimension_type");

const tally = await new CollectingApi(configuration).collectMessages({
  stream: "web",
  messageInput: [
    { _uid: "typescript-fetch", segments: ["a", "b"] },
    { _uid: "typescript-fetch", city: null },
    { city: "x" },
  ],
});
expect(tally.data.messageCount, 2);
expect(tally.data.errors[0]?.code, "no_identity");
await new CollectingApi(configuration).collectMessages({
  stream: "web",
  messageInput: [{ _uid: "typescript-fetch", segments: { add: ["c"], remove: ["b"] } }],
});

const entities = new EntitiesApi(configuration);
const { data: entity } = await entities.readEntity({ table: "user", fieldname: "_uid", fieldval: "typescript-fetch" });
expect(entity.segments?.join(), "a,c");
const exported = await entities.exportEntity({
  identityInput: { table: "user", field: "_uid", value: "typescript-fetch" },
});
expect((await exported.text()).trim().split("\n").length, 5);
const segment = await new CatalogueApi(configuration).putSegment({
  id: "a",
  segmentInput: { name: null, table: "user" },
});
expect(segment.data.name, "a");
expect((await new OperationsApi(configuration).checkHealth()).status, "pass");

const refused = await new DeletionApi(configuration).readDeletion({ requestId: "none" }).catch((error) => error);
expect(refused instanceof ResponseError && refused.response.status, 404);

function expect(found: unknown, wanted: unknown): void {
  if (found !== wanted) throw new Error(`${JSON.stringify(wanted)} is expected, and not ${JSON.stringify(found)}`);
}
