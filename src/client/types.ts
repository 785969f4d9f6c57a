// Bodies of requests and responses. The client imports nothing of the service, so that its declarations compile alone;
// test/client/types-of-schemas.ts compares them with the schemas of the service.
import type { Issue } from "./request.js";

export interface PointTally {
  point_count: number;
}

export interface ListedSeries {
  dimension: string;
  dimension_id: string;
  dimension_types: string[];
}

/** Values of a row at the end and the start of a window; null where none is saved. Only with a window. */
interface Trend {
  now?: number | null;
  before?: number | null;
}

/** The values of a sampled series. `since` is the time of `before` if the series begins after the window's start. */
interface SampledTrend extends Trend {
  since?: string;
}

/** A rule of alerts that is firing for a series. */
export interface Alert {
  id: string;
  name: string;
  dimension: string;
  dimension_id: string;
  dimension_type: string;
  condition: "below" | "above" | "falls_by" | "silent_for";
  value: number | null;
  over: string;
  since: string;
  measured: number | null;
  notified: boolean;
}

export interface Stream extends Trend {
  stream: string;
  /** Null for a stream that has only points. */
  last_message_at: string | null;
  slot: { ts: string; count: number };
  /** Sum of its series over the last 24 complete slots. */
  day: number;
}

export interface SegmentInput {
  name?: string;
  table?: string;
}

export interface SegmentSize {
  id: string;
  name: string;
  size: number;
}

export interface Segment extends SegmentSize {
  table: string;
}

export interface ListedSegment extends Segment, SampledTrend {}

export interface ExperienceInput {
  name?: string;
  group?: string;
  /** Id of the segment of people who can see it. */
  audience: string;
  /** Id of the segment of people who converted. */
  goal: string;
}

/** A dated note for charts. `ts` is an instant, of a `Mark` in Unix ms. */
export interface MarkInput {
  ts: string | number;
  text: string;
  dimension?: string;
  dimension_id?: string;
}

export interface Mark extends MarkInput {
  id: string;
  ts: string;
}

export interface Experience {
  id: string;
  name: string;
  group: string | null;
  audience: string;
  goal: string;
}

export interface ListedExperience extends Experience, SampledTrend {}

export interface EntityAnswer {
  /** The attributes by name, and the names of the segments. */
  data: { [attribute: string]: unknown; segments?: string[] };
  meta?: {
    by_fields: string[];
    format: string;
    name: string;
    created_at: string;
    modified_at: string;
    streams: string[];
  };
}

/** A segment of an entity, and the newest update about it. */
export interface ExplainedMembership {
  id: string;
  name: string;
  since: string;
  by: { stream: string | null; event_time: string; received_at: string };
}

export interface CollectTally {
  message_count: number;
  rejected_count: number;
  left_out?: number;
  errors: Issue[];
}

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
export interface MembersInput {
  fields?: string[];
  after?: string;
  limit?: number;
}

/** A member of a segment, or the end of the list. */
export type MemberLine =
  | {
      readonly identities: Readonly<Record<string, readonly string[]>>;
      /** Only with `fields`. */
      readonly attributes?: Readonly<Record<string, unknown>>;
      readonly since: string;
    }
  | { readonly type: "end"; readonly members: number; readonly next: string | null };

/** An entity to delete, by one of its identities. */
export interface DeletionInput {
  table?: string | null;
  field: string;
  value: string;
}

export interface DeletionRequest {
  request_id: string;
  completed: boolean;
}

/** The deletion request of an item, or the errors of an item that is rejected. */
export type ReceivedDeletion = DeletionRequest | { errors: Issue[] };

export interface ListedDeletion {
  request_id: string;
  accepted_at: string;
  due_at: string;
  cut_off: string;
  completed_at: string | null;
  stage: string;
  attempts: number;
  stuck: boolean;
  problem: string | null;
  next_try_at: string | null;
}

export interface DeletionState extends ListedDeletion {
  targets: { name: string; erased_at: string | null; verified_at: string | null }[];
}

/** Numbers of identities, messages and segments that a deletion would erase. */
export interface DeletionPreview {
  profiles: number;
  identities: { [field: string]: number };
  messages: { [stream: string]: number };
  segments: number;
  targets: string[];
}

/** Public keys that verify receipts (RFC 7517). */
export interface PublicKeys {
  keys: { kty: string; crv: string; alg: string; use: string; kid: string; x: string }[];
}

/** A kind of entity as configured. */
export interface Table {
  name: string;
  identities: { name: string; normal_form: "text" | "email" }[];
  default_identity: string;
  strongest_first: string[];
  protected: string[];
  max_values: number;
  nobody: string[];
  common_nobody: boolean;
}

export interface KeyInfo {
  id: string;
  name: string;
  scopes: (
    | "entity:read"
    | "entity:write"
    | "entity:delete"
    | "entity:export"
    | "metric:read"
    | "metric:write"
    | "admin"
  )[];
  stream?: string;
  fields?: string[];
  by?: string;
  origins?: string[];
  rate?: number;
  expires_at?: string;
}

export interface Readiness {
  version: string;
  roles: ("api" | "worker")[];
  ready: boolean;
  degraded: boolean;
  stores: { name: string; required: boolean; state: "up" | "degraded" | "down"; note?: string }[];
}

/** Row types by list. */
export interface ListRows {
  readonly segment: ListedSegment;
  readonly experience: ListedExperience;
  readonly series: ListedSeries;
  readonly stream: Stream;
  readonly deletion: ListedDeletion;
  readonly alert: Alert;
}

/** One page of a list. `next` is the `after` of the following page, `total` the number of rows on all pages. */
export interface ListPage<Row, Meta = object> {
  readonly data: readonly Row[];
  readonly meta: { readonly next: string | null; readonly total: number } & Meta;
}

/** One page of the list of deletions, with the names of the configured remote targets. */
export type DeletionPage = ListPage<ListedDeletion, { readonly targets: readonly string[] }>;

/** The page of a list. */
export type PageOf<L extends keyof ListRows> = L extends "deletion" ? DeletionPage : ListPage<ListRows[L]>;
