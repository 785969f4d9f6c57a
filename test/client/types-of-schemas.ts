// Compares the types of the client with the schemas of the service; `npm run typecheck` fails where they differ.
import type { Static, TSchema } from "@sinclair/typebox";
import type * as client from "../../src/client/client.js";
import type * as marks from "../../src/http/catalogue/marks.js";
import type * as catalogue from "../../src/http/catalogue/schemas.js";
import type { CollectTally } from "../../src/http/collect/index.js";
import type { ResponseSpec } from "../../src/http/core/route.js";
import type { Preview } from "../../src/http/deletions/index.js";
import type { DeletionListMeta, DeletionState, ListedDeletion } from "../../src/http/deletions/list.js";
import type { DeletionInput, DeletionRequest, ReceivedDeletion } from "../../src/http/deletions/many.js";
import type { PublicKeys } from "../../src/http/deletions/receipts.js";
import type { TableInfo } from "../../src/http/deletions/tables.js";
import type { ExplainedSegment } from "../../src/http/entities/account.js";
import type { entityAnswer } from "../../src/http/entities/index.js";
import type { MembersInput } from "../../src/http/entities/members.js";
import type { ListMeta } from "../../src/http/lists/list-page.js";
import type { Alert } from "../../src/http/metrics/alerts.js";
import type { ListedSeries, Stream } from "../../src/http/metrics/listings.js";
import type { metricBatchAnswer, SeriesField, seriesFields } from "../../src/http/metrics/schemas.js";
import type { Key, Readiness } from "../../src/http/operations/index.js";
import type { PointTally } from "../../src/http/points/json-points.js";
import type { KnownDimension } from "../../src/metrics/dimensions.js";

/** The type of each body in the client, and in the service. */
interface Bodies {
  SeriesRequest: [Required<client.Bucketing>, Required<{ [F in BucketField]: FieldOf<F> }>];
  StoredSeries: [client.StoredSeries, SeriesOf<KnownDimension, "stored">];
  ReadableSeries: [client.ReadableSeries, SeriesOf<KnownDimension, "stored" | "computed">];
  SeriesAnswer: [client.SeriesAnswer, Answer<typeof metricBatchAnswer>["data"][number]];
  PointTally: [client.PointTally, Static<typeof PointTally>];
  ListedSeries: [client.ListedSeries, Static<typeof ListedSeries>];
  Alert: [client.Alert, Static<typeof Alert>];
  Stream: [client.Stream, Static<typeof Stream>];
  DeletionListMeta: [client.DeletionPage["meta"], Static<typeof DeletionListMeta>];
  ListMeta: [client.ListPage<never>["meta"], Static<typeof ListMeta>];
  SegmentInput: [client.SegmentInput, Static<typeof catalogue.SegmentInput>];
  Segment: [client.Segment, Static<typeof catalogue.Segment>];
  SegmentSize: [client.SegmentSize, Static<typeof catalogue.SegmentSize>];
  ListedSegment: [client.ListedSegment, Static<typeof catalogue.ListedSegment>];
  Mark: [client.Mark, Static<typeof marks.Mark>];
  MarkInput: [client.MarkInput, Static<typeof marks.MarkInput>];
  ExperienceInput: [client.ExperienceInput, Static<typeof catalogue.ExperienceInput>];
  Experience: [client.Experience, Static<typeof catalogue.Experience>];
  ListedExperience: [client.ListedExperience, Static<typeof catalogue.ListedExperience>];
  Entity: [Pick<client.EntityAnswer["data"], "segments">, Answer<typeof entityAnswer>["data"]];
  EntityMeta: [client.EntityAnswer["meta"], Answer<typeof entityAnswer>["meta"]];
  ExplainedMembership: [client.ExplainedMembership, Static<typeof ExplainedSegment>];
  MembersInput: [client.MembersInput, Static<typeof MembersInput>];
  CollectTally: [client.CollectTally, Static<typeof CollectTally>];
  DeletionInput: [client.DeletionInput, Static<typeof DeletionInput>];
  DeletionRequest: [client.DeletionRequest, Static<typeof DeletionRequest>];
  ReceivedDeletion: [client.ReceivedDeletion, Static<typeof ReceivedDeletion>];
  ListedDeletion: [client.ListedDeletion, Static<typeof ListedDeletion>];
  DeletionState: [client.DeletionState, Static<typeof DeletionState>];
  DeletionPreview: [client.DeletionPreview, Static<typeof Preview>];
  PublicKeys: [client.PublicKeys, Static<typeof PublicKeys>];
  Table: [client.Table, Static<typeof TableInfo>];
  KeyInfo: [client.KeyInfo, Static<typeof Key>];
  Readiness: [client.Readiness, Static<typeof Readiness>];
}

export type Differing = Nothing<
  {
    [Name in keyof Bodies]: Same<Plain<Bodies[Name][0]>, Plain<Bodies[Name][1]>> extends true ? never : Name;
  }[keyof Bodies]
>;

type Nothing<T extends never> = T;

/** The same without `readonly`. */
type Plain<T> = T extends object ? { -readonly [K in keyof T]: Plain<T[K]> } : T;

/** Identity of types. Assignability would miss optional properties. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

type Answer<S> = S extends ResponseSpec<infer Schema extends TSchema> ? Static<Schema> : never;

/** Fields of the window and the buckets: without the names of the series, and without older aliases. */
type BucketField = Exclude<SeriesField, keyof client.ReadableSeries | "keyspace" | "metric" | "account_id">;
type FieldOf<F extends BucketField> = Exclude<Static<(typeof seriesFields)[F]>, null>;

type SeriesOf<D, Kind> = D extends KnownDimension
  ? {
      dimension: D["name"] | D["aliases"][number];
      dimension_id: string;
      dimension_type: D["storedTypes"][number] | ("computed" extends Kind ? keyof D["ratios"] : never);
    }
  : never;
