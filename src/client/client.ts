import type { Static, TSchema } from "@sinclair/typebox";
import type * as catalogue from "../http/catalogue/schemas.js";
import type { CollectTally as CollectTallySchema } from "../http/collect/index.js";
import type { ResponseSpec } from "../http/core/route.js";
import type { DeletionRequest as DeletionRequestSchema } from "../http/deletions/index.js";
import type {
  DeletionState as DeletionStateSchema,
  ListedDeletion as ListedDeletionSchema,
} from "../http/deletions/list.js";
import type { PublicKeys as PublicKeysSchema } from "../http/deletions/receipts.js";
import type { entityAnswer } from "../http/entities/index.js";
import type { ListedSeries as ListedSeriesSchema, Stream as StreamSchema } from "../http/metrics/listings.js";
import type {
  metricBatchAnswer,
  ReadableSeries,
  SeriesField,
  StoredSeries,
  seriesFields,
} from "../http/metrics/schemas.js";
import type { Key, Readiness as ReadinessSchema } from "../http/operations/index.js";
import type { PointTally as PointTallySchema } from "../http/points/json-points.js";
import { linesOf, readLines } from "./lines.js";
import type { ListPage, ListRows, MemberLine, MembersInput } from "./lists.js";
import { ApiError, type CallOptions, type ClientOptions, NotReached, type Send, type Sent, sender } from "./request.js";

export type { ReadableSeries, StoredSeries } from "../http/metrics/schemas.js";
export type { ListPage, ListRows, MemberLine, MembersInput } from "./lists.js";
export { ApiError, type CallOptions, type ClientOptions, type Issue, NotReached } from "./request.js";

type Answer<S> = S extends ResponseSpec<infer Schema extends TSchema> ? Static<Schema> : never;

/** Aliases of fields in requests of older clients. */
type OlderField = "keyspace" | "metric" | "account_id";
type BucketField = Exclude<SeriesField, keyof ReadableSeries | OlderField>;
/** A series to read: dimension, id and type, and how it is put into buckets. A field that is absent has the service's default. */
export type SeriesRequest = ReadableSeries & {
  readonly [K in BucketField]?: Exclude<Static<(typeof seriesFields)[K]>, null>;
};
/** A series of a batch: its values, or (where it has `errors`) why it has none. */
export type SeriesAnswer = Answer<typeof metricBatchAnswer>["data"][number];
/** Why an entity is in a segment: the newest statement of the membership. */
export interface ExplainedMembership {
  readonly id: string;
  readonly name: string;
  readonly since: string;
  readonly by: { readonly stream: string; readonly event_time: string; readonly received_at: string };
}
export type KeyInfo = Static<typeof Key>;
export type ListedSeries = Static<typeof ListedSeriesSchema>;
export type Stream = Static<typeof StreamSchema>;
export type Readiness = Static<typeof ReadinessSchema>;
export type Segment = Static<typeof catalogue.Segment>;
export type ListedSegment = Static<typeof catalogue.ListedSegment>;
export type SegmentSize = Static<typeof catalogue.SegmentSize>;
export type SegmentInput = Static<typeof catalogue.SegmentInput>;
export type Experience = Static<typeof catalogue.Experience>;
export type ListedExperience = Static<typeof catalogue.ListedExperience>;
export type ExperienceInput = Static<typeof catalogue.ExperienceInput>;
export type EntityAnswer = Omit<Answer<typeof entityAnswer>, "status" | "message">;
export type CollectTally = Static<typeof CollectTallySchema>;
export type PublicKeys = Static<typeof PublicKeysSchema>;
export type DeletionRequest = Static<typeof DeletionRequestSchema>;
export type ListedDeletion = Static<typeof ListedDeletionSchema>;
export type DeletionState = Static<typeof DeletionStateSchema>;
export interface DeletionPreview {
  readonly profiles: number;
  readonly identities: Readonly<Record<string, number>>;
  readonly messages: Readonly<Record<string, number>>;
  readonly segments: number;
  readonly targets: readonly string[];
}
/** What is kept about an entity, line by line: its profile, its messages by arrival, and how many these are. */
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
/** `ts` is Unix ms. A block has a list of values for each series: a number or null for each `ts`. */
export type Points =
  | readonly (StoredSeries & { readonly value: number; readonly ts: number | string })[]
  | {
      readonly series: readonly StoredSeries[];
      readonly ts: readonly (number | string)[];
      readonly values: readonly (readonly (number | null)[])[];
    };
export type PointTally = Static<typeof PointTallySchema>;

type Values = Iterable<unknown> | AsyncIterable<unknown>;
type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Most messages of a request to `/collect/json`, and about how many characters. */
const MESSAGES = 500;
const MESSAGES_LENGTH = 4_000_000;

/**
 * The service, typed; for browsers and Node. Every call sends what is safe to repeat, and repeats it while the service is busy or not
 * reached. It rejects with `ApiError` (the service says no), `NotReached`, or the reason of its signal.
 */
export function createClient(options: ClientOptions) {
  const send = sender(options);
  const { answer, read, pages, lines } = calls(send);
  const at = (...parts: readonly string[]) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");
  const listOf =
    <T>(path: string) =>
    (query: Query = {}, options: CallOptions = {}) =>
      pages<T>(path, query, options);
  const collectLines = (
    stream: string,
    body: string,
    idempotencyKey: string,
    query: Query = {},
    options?: CallOptions,
  ) => {
    const path = `/collect/json${at(stream)}${text(query)}`;
    const headers = { "idempotency-key": idempotencyKey };
    return read<CollectTally>({ method: "POST", path, type: "application/x-ndjson", body, headers }, options);
  };

  return {
    /** Series in buckets, all by one request, in the order of what was asked. Scope `metric:read`, as for the lists below. */
    metrics: (series: readonly SeriesRequest[], options?: CallOptions) =>
      read<SeriesAnswer[]>({ method: "POST", path: "/api/metric", ...json(series) }, options),

    /** The key that asks: its id, its name and what it opens. Any key may. */
    key: (options?: CallOptions) => read<KeyInfo>({ method: "GET", path: "/api/key" }, options),

    /** Series that have a point, page by page; `dimension` and the `prefix` of ids may be given. */
    series: listOf<ListedSeries>("/api/series"),
    /** Streams that took messages. */
    streams: listOf<Stream>("/api/stream"),

    /** Whether the service can work, and its stores; needs no key. It resolves, too, when the service says that it is not ready. */
    ready: (options?: CallOptions) =>
      read<Readiness>({ method: "GET", path: "/ready", once: true }, options).catch((error) => {
        if (error instanceof ApiError && error.status === 503 && error.data !== undefined)
          return error.data as Readiness;
        throw error;
      }),
    /** How the process is doing, as Prometheus text. */
    serviceMetrics: async (options?: CallOptions) =>
      (await send({ method: "GET", path: "/metrics", accept: "text/plain" }, options)).text(),

    /** Writes points: one already written for a series and slot is replaced. Scope `metric:write`. */
    writePoints: (points: Points, options?: CallOptions) =>
      read<PointTally>({ method: "POST", path: "/api/metric/points", ...json(points) }, options),

    /**
     * Every segment with its size now, page by page. The query may have `table`, `limit` (of a page) and, as every list, `q`, `sort` and `order`; with
     * `range` each row has `now` and `before`.
     */
    segments: listOf<ListedSegment>("/api/segment"),
    segmentSizes: listOf<SegmentSize>("/api/segment/sizes"),
    experiences: listOf<ListedExperience>("/api/experience"),

    /** One entry; rejects with `ApiError` 404 when there is none. */
    segment: (id: string, options?: CallOptions) =>
      read<Segment>({ method: "GET", path: `/api/segment${at(id)}` }, options),
    experience: (id: string, options?: CallOptions) =>
      read<Experience>({ method: "GET", path: `/api/experience${at(id)}` }, options),

    /** One page of a list. The query is that of the list, with `after` from the page before. */
    page: <L extends keyof ListRows>(list: L, query: Query = {}, options?: CallOptions) =>
      answer<ListPage<ListRows[L]>>({ method: "GET", path: `/api/${list}${text(query)}` }, options),

    /** Puts an entry into the catalogue, whole. Scope `admin`, as for those below. */
    putSegment: (id: string, segment: SegmentInput, options?: CallOptions) =>
      read<Segment>({ method: "PUT", path: `/api/segment${at(id)}`, ...json(segment) }, options),
    putExperience: (id: string, experience: ExperienceInput, options?: CallOptions) =>
      read<Experience>({ method: "PUT", path: `/api/experience${at(id)}`, ...json(experience) }, options),
    removeSegment: (id: string, options?: CallOptions) =>
      read<{ id: string }>({ method: "DELETE", path: `/api/segment${at(id)}` }, options),
    removeExperience: (id: string, options?: CallOptions) =>
      read<{ id: string }>({ method: "DELETE", path: `/api/experience${at(id)}` }, options),

    /** The entity that an identity leads to; rejects with `ApiError` 404 when there is none. Scope `entity:read`. */
    async entity(table: string, field: string, value: string, query: Query = {}, options?: CallOptions) {
      const path = `/api/entity${at(table, field, value)}${text(query)}`;
      const { data, meta } = await answer<Answer<typeof entityAnswer>>({ method: "GET", path }, options);
      return { data, ...(meta === undefined ? {} : { meta }) } as EntityAnswer;
    },

    /** Why an entity is in each of its segments; rejects with `ApiError` 404 when there is none. Scope `entity:read`. */
    explainSegments: (table: string, field: string, value: string, options?: CallOptions) =>
      read<ExplainedMembership[]>({ method: "GET", path: `/api/entity${at(table, field, value)}/segments` }, options),

    /**
     * Sends messages of any number, in requests of up to 500 that are each applied once, whatever is repeated. Yields the tally of each
     * request; positions in its errors count from the first message of that request. Scope `entity:write`.
     */
    async *collect(stream: string, messages: Values, query: Query = {}, options?: CallOptions) {
      let first = 0;
      for await (const { body, count } of linesOf(messages, MESSAGES, MESSAGES_LENGTH)) {
        yield { ...(await collectLines(stream, body, crypto.randomUUID(), query, options)), first };
        first += count;
      }
    },

    /** Sends NDJSON as one request. Under the same `idempotencyKey` (up to 256 characters) it is applied once within 24 hours. Scope `entity:write`. */
    collectLines,

    /**
     * Everything that is kept about an entity, as it comes. Rejects with `ApiError` 404 when there is none, and with `NotReached` when the
     * last line does not come: the response was cut, or the entity erased or merged meanwhile. Scope `entity:export`.
     */
    async *exportEntity(table: string, field: string, value: string, options?: CallOptions) {
      const sent = { method: "POST", path: "/api/entity/export", ...json({ table, field, value }) } as const;
      let last: ExportLine | undefined;
      for await (const line of lines<ExportLine>(sent, options)) {
        last = line;
        yield line;
      }
      if (last?.type !== "end") {
        throw new NotReached("The export is not whole: it was cut, or the entity was erased or merged meanwhile");
      }
    },

    /**
     * The members of a segment, as they come, and a last line with their number and, where `limit` left some out, the `after` of the next call. Rejects
     * with `ApiError` 404 when there is no such segment, and with `NotReached` when the last line does not come. Scope `entity:export`.
     */
    async *members(segment: string, input: MembersInput = {}, options?: CallOptions) {
      const sent = { method: "POST", path: `/api/segment${at(segment)}/members`, ...json(input) } as const;
      let last: MemberLine | undefined;
      for await (const line of lines<MemberLine>(sent, options)) {
        last = line;
        yield line;
      }
      if (last === undefined || !("type" in last)) throw new NotReached("The list of members was cut");
    },

    /** Requests for erasures, the newest first, page by page; `state` is `open` (when absent), `completed` or `all`. Scope `entity:delete` or `admin`. */
    deletions: listOf<ListedDeletion>("/api/deletion"),
    /** One of them, and how far each place is. */
    deletion: (requestId: string, options?: CallOptions) =>
      read<DeletionState>({ method: "GET", path: `/api/deletion${at(requestId)}` }, options),
    /** Tries it now; rejects with `ApiError` 409 when it is completed. Scope `admin`. */
    retryDeletion: (requestId: string, options?: CallOptions) =>
      read<DeletionState>({ method: "POST", path: `/api/deletion${at(requestId)}/retry` }, options),

    /** What an erasure would remove, in counts; rejects with `ApiError` 404 when no profile has the identity. Scopes `entity:delete` and `entity:read`. */
    previewDeletion: (table: string, field: string, value: string, options?: CallOptions) =>
      read<DeletionPreview>(
        { method: "POST", path: "/api/deletion/preview", ...json({ table, field, value }) },
        options,
      ),
    /** The signed receipt of a completed erasure, a JWS in compact form; rejects with `ApiError` 409 before. Scope `entity:delete`. */
    receipt: async (requestId: string, options?: CallOptions) =>
      (
        await send(
          { method: "GET", path: `/api/deletion${at(requestId)}/receipt`, accept: "application/jose" },
          options,
        )
      ).text(),

    /** The public keys that receipts are checked with (RFC 7517). Needs no key. */
    jwks: (options?: CallOptions) => answer<PublicKeys>({ method: "GET", path: "/.well-known/jwks.json" }, options),

    /** Asks for the erasure of the entity that has the identity, known or not. Scope `entity:delete`. */
    requestDeletion: (table: string, field: string, value: string, options?: CallOptions) =>
      read<DeletionRequest>({ method: "DELETE", path: `/api/entity${at(table, field, value)}` }, options),

    /** Whether it is complete, and nothing else: the key may have `entity:read` alone. */
    deletionStatus: (requestId: string, options?: CallOptions) =>
      read<DeletionRequest>({ method: "GET", path: `/api/entity/deletestatus${at(requestId)}` }, options),
  };
}

export type Client = ReturnType<typeof createClient>;

/** Ways to ask, and to take the answer. */
function calls(send: Send) {
  /** The whole JSON of a response. */
  async function answer<A>(sent: Sent, options?: CallOptions): Promise<A> {
    const response = await send(sent, options);
    const json: unknown = await response.json().catch((error) => {
      throw new NotReached("The response is not JSON: it is not the service that answered", { cause: error });
    });
    return json as A;
  }
  return {
    answer,
    read: async <T>(sent: Sent, options?: CallOptions) => (await answer<{ readonly data: T }>(sent, options)).data,
    /** The items of every page, each page asked for when its first item is wanted. */
    async *pages<T>(path: string, query: Query, options: CallOptions): AsyncGenerator<T, void, void> {
      for (let { after } = query; ; ) {
        const sent = { method: "GET", path: `${path}${text({ ...query, after })}` } as const;
        const { data, meta } = await answer<ListPage<T>>(sent, options);
        yield* data;
        if (meta?.next == null) return;
        after = meta.next;
      }
    },
    async *lines<T>(sent: Sent, options?: CallOptions): AsyncGenerator<T, void, void> {
      const response = await send({ ...sent, accept: "application/x-ndjson", stream: true }, options);
      yield* readLines<T>(response, options?.signal);
    },
  };
}

function json(body: unknown) {
  return { type: "application/json", body: JSON.stringify(body) };
}

/** A query with what is defined; empty without any. */
function text(query: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? "" : `?${given}`;
}
