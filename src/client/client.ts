import type { Static, TSchema } from "@sinclair/typebox";
import type * as catalogue from "../http/catalogue/schemas.js";
import type { CollectTally as CollectTallySchema } from "../http/collect/index.js";
import type { DeletionRequest as DeletionRequestSchema } from "../http/deletions/schemas.js";
import type { entityAnswer } from "../http/entities/index.js";
import type { metricBatchAnswer, SeriesField, seriesFields } from "../http/metrics/schemas.js";
import type { Block, Point, PointTally as PointTallySchema } from "../http/points/schemas.js";
import type { ResponseSpec } from "../http/route.js";
import { linesOf, readLines } from "./lines.js";
import { type CallOptions, type ClientOptions, type Send, type Sent, sender } from "./request.js";

export { ApiError, type CallOptions, type ClientOptions, type Issue, NotReached } from "./request.js";

type Answer<S> = S extends ResponseSpec<infer Schema extends TSchema> ? Static<Schema> : never;

/** A series to ask for: dimension, id and type, and how it is put into buckets. A field that is absent has the service's default. */
export type SeriesRequest = { readonly [K in SeriesField]?: Exclude<Static<(typeof seriesFields)[K]>, null> };
/** A series of a batch: its values, or (where it has `errors`) why it has none. */
export type SeriesAnswer = Answer<typeof metricBatchAnswer>["data"][number];
export type Segment = Static<typeof catalogue.Segment>;
export type SegmentSize = Static<typeof catalogue.SegmentSize>;
export type SegmentInput = Static<typeof catalogue.SegmentInput>;
export type Experience = Static<typeof catalogue.Experience>;
export type ExperienceInput = Static<typeof catalogue.ExperienceInput>;
export type EntityAnswer = Omit<Answer<typeof entityAnswer>, "status" | "message">;
export type CollectTally = Static<typeof CollectTallySchema>;
export type DeletionRequest = Static<typeof DeletionRequestSchema>;
export type Points = readonly Static<typeof Point>[] | Static<typeof Block>;
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
  const { read, pages, send } = calls(sender(options));
  const at = (...parts: readonly string[]) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");
  const listOf =
    <T>(path: string) =>
    (query: Query = {}, options: CallOptions = {}) =>
      pages<T>(path, query, options);

  return {
    /** Series in buckets, all by one request, in the order of what was asked. Scope `metric:read`, as for the lists below. */
    metrics: (series: readonly SeriesRequest[], options?: CallOptions) =>
      read<SeriesAnswer[]>({ method: "POST", path: "/api/metric", ...json(series) }, options),

    /** Writes points: one already written for a series and slot is replaced. Scope `metric:write`. */
    writePoints: (points: Points, options?: CallOptions) =>
      read<PointTally>({ method: "POST", path: "/api/metric/points", ...json(points) }, options),

    /** Every segment with its size now, page by page. `table` and `limit` (of a page) may be given. */
    segments: listOf<Segment>("/api/segment"),
    segmentSizes: listOf<SegmentSize>("/api/segment/sizes"),
    experiences: listOf<Experience>("/api/experience"),

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
      const response = await send(
        { method: "GET", path: `/api/entity${at(table, field, value)}${text(query)}` },
        options,
      );
      const { data, meta } = (await response.json()) as Answer<typeof entityAnswer>;
      return { data, ...(meta === undefined ? {} : { meta }) } as EntityAnswer;
    },

    /**
     * Sends messages of any number, in requests of up to 500 that are each applied once, whatever is repeated. Yields the tally of each
     * request; positions in its errors count from the first message of that request. Scope `entity:write`.
     */
    async *collect(stream: string, messages: Values, query: Query = {}, options?: CallOptions) {
      let first = 0;
      for await (const { body, count } of linesOf(messages, MESSAGES, MESSAGES_LENGTH)) {
        const headers = { "idempotency-key": crypto.randomUUID() };
        const path = `/collect/json${at(stream)}${text(query)}`;
        const tally = await read<CollectTally>(
          { method: "POST", path, type: "application/x-ndjson", body, headers },
          options,
        );
        yield { ...tally, first };
        first += count;
      }
    },

    /** Asks for the erasure of whoever has the identity, known or not. Scope `entity:delete`. */
    erase: (table: string, field: string, value: string, options?: CallOptions) =>
      read<DeletionRequest>({ method: "DELETE", path: `/api/entity${at(table, field, value)}` }, options),

    /** Whether it is complete. */
    erasure: (requestId: string, options?: CallOptions) =>
      read<DeletionRequest>({ method: "GET", path: `/api/entity/deletestatus${at(requestId)}` }, options),
  };
}

export type Client = ReturnType<typeof createClient>;

/** Ways to ask, and to take the answer. */
function calls(send: Send) {
  const envelope = async <T>(sent: Sent, options?: CallOptions) =>
    (await (await send(sent, options)).json()) as {
      readonly data: T;
      readonly meta?: { readonly next: string | null };
    };
  return {
    send,
    async read<T>(sent: Sent, options?: CallOptions): Promise<T> {
      return (await envelope<T>(sent, options)).data;
    },
    /** The items of every page, each page asked for when its first item is wanted. */
    async *pages<T>(path: string, query: Query, options: CallOptions): AsyncGenerator<T, void, void> {
      for (let after: string | undefined; ; ) {
        const page = await envelope<T[]>({ method: "GET", path: `${path}${text({ ...query, after })}` }, options);
        yield* page.data;
        if (page.meta?.next == null) return;
        after = page.meta.next;
      }
    },
    async *lines<T>(sent: Sent, options?: CallOptions): AsyncGenerator<T, void, void> {
      yield* readLines<T>(await send({ ...sent, accept: "application/x-ndjson" }, options));
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
