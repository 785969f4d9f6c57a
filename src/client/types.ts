// Bodies of requests and responses: the types of the schemas of the service. The build writes them out
// (scripts/client-types.mjs), so that the declarations of the client compile alone.
import type * as marks from "../http/catalogue/marks.js";
import type * as rulePreview from "../http/catalogue/preview.js";
import type * as catalogue from "../http/catalogue/schemas.js";
import type * as collect from "../http/collect/index.js";
import type { ResponseSpec } from "../http/core/route.js";
import type * as preview from "../http/deletions/index.js";
import type * as deletions from "../http/deletions/list.js";
import type * as received from "../http/deletions/many.js";
import type * as receipts from "../http/deletions/receipts.js";
import type * as tables from "../http/deletions/tables.js";
import type * as account from "../http/entities/account.js";
import type * as attributes from "../http/entities/attributes.js";
import type * as entities from "../http/entities/index.js";
import type * as members from "../http/entities/members.js";
import type * as hooks from "../http/hooks/index.js";
import type * as lists from "../http/lists/list-page.js";
import type * as alerts from "../http/metrics/alerts.js";
import type * as listings from "../http/metrics/listings.js";
import type * as metrics from "../http/metrics/schemas.js";
import type * as operations from "../http/operations/index.js";
import type * as points from "../http/points/json-points.js";
import type { Aggregation as KnownAggregation, KnownDimension } from "../metrics/dimensions.js";

/** The values that a schema accepts. */
type Static<Schema extends { readonly static: unknown }> = Schema["static"];

/** Body of a response. */
type Body<Response> = Response extends ResponseSpec<infer Schema> ? Static<Schema> : never;

type SeriesOf<D, Kind> = D extends KnownDimension
  ? {
      readonly dimension: D["name"] | D["aliases"][number];
      readonly dimension_id: string;
      readonly dimension_type: D["storedTypes"][number] | ("computed" extends Kind ? keyof D["ratios"] : never);
    }
  : never;

/** A writable series: the stored types of each dimension. */
export type StoredSeries = SeriesOf<KnownDimension, "stored">;

/** A readable series: the stored and computed types of each dimension. */
export type ReadableSeries = SeriesOf<KnownDimension, "stored" | "computed">;

/**
 * Window and buckets of a series to read. Absent fields have the service's defaults. `start_date` and `end_date` are
 * other spellings of `startdate` and `enddate`.
 */
export type Bucketing = {
  readonly [F in Exclude<metrics.SeriesField, keyof ReadableSeries | "keyspace" | "metric" | "account_id">]?: Exclude<
    Static<(typeof metrics.seriesFields)[F]>,
    undefined
  >;
};

/** A series to read: dimension, id, type and bucketing. */
export type SeriesRequest = ReadableSeries & Bucketing;

export type Aggregation = KnownAggregation;

/** Values ascend by `ts`, the start of a bucket in Unix ms. */
export type FetchedSeries = Body<typeof metrics.metricAnswer>["data"][number];

/** A series of a batch: its values, or `errors` with its valid names. */
export type SeriesAnswer = Body<typeof metrics.metricBatchAnswer>["data"][number];

/** An item of a batch that failed, with its valid names. */
export type RefusedSeries = Exclude<SeriesAnswer, FetchedSeries>;

/**
 * `ts` is Unix ms. Only added points may have a `source`. A block has a list of values per series: a number or null for
 * each `ts`.
 */
export type Points =
  | readonly (StoredSeries & { readonly value: number; readonly ts: number | string; readonly source?: string })[]
  | {
      readonly series: readonly StoredSeries[];
      readonly ts: readonly (number | string)[];
      readonly values: readonly (readonly (number | null)[])[];
    };

export type PointTally = Static<typeof points.PointTally>;

export type ListedSeries = Static<typeof listings.ListedSeries>;

/** Whether a system of the setting `hooks` takes its events. */
export type HookStatus = Static<typeof hooks.HookStatus>;

/** A rule of alerts that is firing for a series. */
export type Alert = Static<typeof alerts.Alert>;

/**
 * A stream. `last_message_at` is null if it has only points, `day` is the sum over the last 24 complete slots. With a
 * window, `now` and `before` are the sums over it and over the window before, and a change is `compared` less `before`.
 */
export type Stream = Static<typeof listings.Stream>;

export type SegmentInput = Static<typeof catalogue.SegmentInput>;

/** A rule to try; `id` is the segment whose rule it would become. */
export type RulePreviewInput = Static<typeof rulePreview.PreviewInput>;

/** Number of profiles that match a rule: an estimate with its 95 % interval unless it is `exact`. */
export type RulePreview = Static<typeof rulePreview.Preview>;

export type SegmentSize = Static<typeof catalogue.SegmentSize>;

export type Segment = Static<typeof catalogue.Segment>;

/**
 * A row with its sizes at the end and the start of a window, null where none is saved. `since` is the time of `before`
 * if the series begins after the window's start.
 */
export type ListedSegment = Static<typeof catalogue.ListedSegment>;

/** `audience` is the segment of people who can see it, `goal` the segment of people who converted: their ids. */
export type ExperienceInput = Static<typeof catalogue.ExperienceInput>;

export type Experience = Static<typeof catalogue.Experience>;

/** A row with its conversion rates, as `ListedSegment` has its sizes. */
export type ListedExperience = Static<typeof catalogue.ListedExperience>;

/** A dated note for charts. `ts` is an instant. */
export type MarkInput = Static<typeof marks.MarkInput>;

/** `ts` is in Unix ms. */
export type Mark = Static<typeof marks.Mark>;

/** The attributes by name, and the names of the segments. */
export type EntityAnswer = Pick<Body<typeof entities.entityAnswer>, "meta"> & {
  data: { [attribute: string]: unknown } & Body<typeof entities.entityAnswer>["data"];
};

/** An attribute of the profiles of a table. */
export type Attribute = Static<typeof attributes.Attribute>;

/** A segment, whether an entity is a member, and the newest update about it or the conditions of its rule. */
export type ExplainedMembership = Static<typeof account.ExplainedSegment>;

export type CollectTally = Static<typeof collect.CollectTally>;

/** Data about an entity by line: its profile, its messages by arrival, and their number. */
export type ExportLine =
  | {
      readonly type: "profile";
      readonly table: string;
      readonly identities: Readonly<Record<string, readonly string[]>>;
      readonly attributes: Readonly<Record<string, { readonly value: unknown; readonly at: string }>>;
      readonly segments: readonly { readonly id: string; readonly name: string; readonly since: string }[];
    }
  | {
      readonly type: "message";
      readonly stream: string;
      readonly event_time: string;
      readonly received_at: string;
      readonly body: unknown;
    }
  | { readonly type: "end"; readonly messages: number };

/** Selection of a segment's members and attributes. */
export type MembersInput = Static<typeof members.MembersInput>;

/** A member of a segment, with `attributes` if `fields` were requested, or the end of the list. */
export type MemberLine =
  | {
      readonly identities: Readonly<Record<string, readonly string[]>>;
      readonly attributes?: Readonly<Record<string, unknown>>;
      readonly since: string;
    }
  | { readonly type: "end"; readonly members: number; readonly next: string | null };

/** An entity to delete, by one of its identities. */
export type DeletionInput = Static<typeof received.DeletionInput>;

export type DeletionRequest = Static<typeof deletions.DeletionRequest>;

/** The deletion request of an item, or the errors of an item that is rejected. */
export type ReceivedDeletion = Static<typeof received.ReceivedDeletion>;

export type ListedDeletion = Static<typeof deletions.ListedDeletion>;

export type DeletionState = Static<typeof deletions.DeletionState>;

/** Numbers of identities, messages and segments that a deletion would erase. */
export type DeletionPreview = Static<typeof preview.Preview>;

/** Public keys that verify receipts (RFC 7517). */
export type PublicKeys = Static<typeof receipts.PublicKeys>;

/** A kind of entity as configured. */
export type Table = Static<typeof tables.TableInfo>;

export type KeyInfo = Static<typeof operations.Key>;

export type Readiness = Static<typeof operations.Readiness>;

/** Row types by list. */
export interface ListRows {
  readonly segment: ListedSegment;
  readonly experience: ListedExperience;
  readonly series: ListedSeries;
  readonly stream: Stream;
  readonly deletion: ListedDeletion;
  readonly alert: Alert;
}

/** `next` is the `after` of the following page, `total` the number of rows on all pages. */
export type ListMeta = Static<typeof lists.ListMeta>;

/** `targets` are the names of the configured remote targets. */
export type DeletionListMeta = Static<typeof deletions.DeletionListMeta>;

/** One page of a list. */
export interface ListPage<Row, Meta = ListMeta> {
  readonly data: readonly Row[];
  readonly meta: Readonly<Meta>;
}

/** Number of open requests with one problem and one next target. */
export type OpenReason = Static<typeof deletions.OpenReason>;

/** `silent` is the number of silent streams on all pages, in a list that is sorted by a figure. */
export type StreamPage = ListPage<Stream, Static<typeof listings.StreamListMeta>>;

export type DeletionPage = ListPage<ListedDeletion, DeletionListMeta>;

/** The page of a list. */
export type PageOf<L extends keyof ListRows> = L extends "deletion"
  ? DeletionPage
  : L extends "stream"
    ? StreamPage
    : ListPage<ListRows[L]>;
