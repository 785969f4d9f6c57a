import { linesOf, readLines } from "./lines.js";
import { ApiError, type CallOptions, type ClientOptions, NotReached, type Send, type Sent, sender } from "./request.js";
import type {
  Alert,
  Attribute,
  CollectTally,
  DeletionInput,
  DeletionPreview,
  DeletionRequest,
  DeletionState,
  EntityAnswer,
  Experience,
  ExperienceInput,
  ExplainedMembership,
  ExportLine,
  HookStatus,
  KeyInfo,
  ListedDeletion,
  ListedExperience,
  ListedSegment,
  ListedSeries,
  ListPage,
  ListRows,
  Mark,
  MarkInput,
  MemberLine,
  MembersInput,
  PageOf,
  Points,
  PointTally,
  PublicKeys,
  Readiness,
  ReceivedDeletion,
  RulePreview,
  RulePreviewInput,
  Segment,
  SegmentInput,
  SegmentSize,
  SeriesAnswer,
  SeriesRequest,
  Stream,
  Table,
} from "./types.js";

export { ApiError, type CallOptions, type ClientOptions, type Issue, NotReached } from "./request.js";
export type * from "./types.js";

type Values<T = unknown> = Iterable<T> | AsyncIterable<T>;
type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Maximum messages and approximate characters of a request to `/collect/json`. */
const MESSAGES = 500;
const MESSAGES_LENGTH = 4_000_000;

/** Maximum items and approximate characters of a request for deletions. */
const DELETIONS = 1_000;
const DELETIONS_LENGTH = 4_000_000;

/**
 * Typed client of the service for browsers and Node. Every call is safe to repeat and is retried while the service is
 * busy or unreachable. Rejects with `ApiError` (an error response), `NotReached`, or the reason of its signal.
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
  const deleteLines = async (body: string, idempotencyKey: string, options?: CallOptions) => {
    const headers = { "idempotency-key": idempotencyKey };
    const type = "application/x-ndjson";
    const sent = { method: "POST", path: "/api/deletion", type, body, headers, accept: type } as const;
    return readReceived(await send(sent, options));
  };

  return {
    /** Fetches series in one request, in the order of the request. Scope `metric:read`. */
    metrics: (series: readonly SeriesRequest[], options?: CallOptions) =>
      read<SeriesAnswer[]>({ method: "POST", path: "/api/metric", ...json(series) }, options),

    /** Returns the id, name and scopes of the key. Any key may call it. */
    key: (options?: CallOptions) => read<KeyInfo>({ method: "GET", path: "/api/key" }, options),

    /**
     * Yields all series with at least one point; optional filters are `dimension` and a `prefix` of ids, and
     * `catalogue: false` for segments or experiences that only have points. Scope `metric:read`.
     */
    series: listOf<ListedSeries>("/api/series"),
    /** Yields all streams. Scope `metric:read`. */
    streams: listOf<Stream>("/api/stream"),
    /**
     * Yields the alerts that are firing, the oldest first; with `state` `ended` the alerts that ended in the last 30
     * days, with `all` both. Scope `metric:read`.
     */
    alerts: listOf<Alert>("/api/alert"),

    /** Returns the readiness of the service and its stores, also when it is not ready. Needs no key. */
    ready: (options?: CallOptions) =>
      read<Readiness>({ method: "GET", path: "/ready", once: true }, options).catch((error) => {
        if (error instanceof ApiError && error.status === 503 && error.data !== undefined)
          return error.data as Readiness;
        throw error;
      }),
    /** Exchanges the code of a sign-in link for a key. Needs no key. */
    signIn: async (code: string, options?: CallOptions) =>
      (await read<{ key: string }>({ method: "POST", path: `/dashboard/sign-in${at(code)}`, once: true }, options)).key,
    /** Returns the process metrics in Prometheus text format. Scope `metric:read`. */
    serviceMetrics: async (options?: CallOptions) =>
      (await send({ method: "GET", path: "/metrics", accept: "text/plain" }, options)).text(),

    /**
     * Writes points; replaces existing ones of the same series and slot. With `mode: "add"` each value is added to its
     * slot, once for each series, `source` and `ts`. Scope `metric:write`.
     */
    writePoints: (points: Points, { mode, ...options }: CallOptions & { readonly mode?: "add" } = {}) =>
      read<PointTally>({ method: "POST", path: `/api/metric/points${text({ mode })}`, ...json(points) }, options),

    /**
     * Yields all segments with their current sizes. The query may have `table`, `limit` (per page) and, as in every
     * list, `q`, `sort` and `order`; with `range` each row has `now` and `before`. Scope `metric:read`.
     */
    segments: listOf<ListedSegment>("/api/segment"),
    /** Yields the current size of each segment. Scope `metric:read`. */
    segmentSizes: listOf<SegmentSize>("/api/segment/sizes"),
    /** Yields all experiences; the query is as in `segments`, without `table`. Scope `metric:read`. */
    experiences: listOf<ListedExperience>("/api/experience"),

    /** Returns one segment; rejects with `ApiError` 404 when there is none. Scope `metric:read`. */
    segment: (id: string, options?: CallOptions) =>
      read<Segment>({ method: "GET", path: `/api/segment${at(id)}` }, options),
    /** Returns one experience; rejects with `ApiError` 404 when there is none. Scope `metric:read`. */
    experience: (id: string, options?: CallOptions) =>
      read<Experience>({ method: "GET", path: `/api/experience${at(id)}` }, options),

    /** Returns one page of a list. `after` comes from the previous page. Needs the scope of the list. */
    page: <L extends keyof ListRows>(list: L, query: Query = {}, options?: CallOptions) =>
      answer<PageOf<L>>({ method: "GET", path: `/api/${list}${text(query)}` }, options),

    /** Creates or replaces a segment; with a rule, one by rule. Scope `admin`. */
    putSegment: (id: string, segment: SegmentInput, options?: CallOptions) =>
      read<Segment>({ method: "PUT", path: `/api/segment${at(id)}`, ...json(segment) }, options),
    /** Counts the profiles that match a rule. Scope `admin`. */
    previewRule: (input: RulePreviewInput, options?: CallOptions) =>
      read<RulePreview>({ method: "POST", path: "/api/segment/preview", ...json(input) }, options),
    /** Returns the attributes of a table, the most frequent first. Scopes `entity:read` and `metric:read`. */
    attributes: (table: string, options?: CallOptions) =>
      read<Attribute[]>({ method: "GET", path: `/api/attribute${text({ table })}` }, options),
    /** Creates or replaces an experience. Scope `admin`. */
    putExperience: (id: string, experience: ExperienceInput, options?: CallOptions) =>
      read<Experience>({ method: "PUT", path: `/api/experience${at(id)}`, ...json(experience) }, options),
    /** Removes a segment. Scope `admin`. */
    removeSegment: (id: string, options?: CallOptions) =>
      read<{ id: string }>({ method: "DELETE", path: `/api/segment${at(id)}` }, options),
    /**
     * Yields all marks; optional filters are `startdate`, `enddate`, `dimension` and `dimension_id`. Scope
     * `metric:read`.
     */
    marks: listOf<Mark>("/api/mark"),
    /** Returns one mark; rejects with `ApiError` 404 when there is none. Scope `metric:read`. */
    mark: (id: string, options?: CallOptions) => read<Mark>({ method: "GET", path: `/api/mark${at(id)}` }, options),
    /** Creates or replaces a mark. Scope `metric:write`. */
    putMark: (id: string, mark: MarkInput, options?: CallOptions) =>
      read<Mark>({ method: "PUT", path: `/api/mark${at(id)}`, ...json(mark) }, options),
    /** Removes a mark. Scope `metric:write`. */
    removeMark: (id: string, options?: CallOptions) =>
      read<{ id: string }>({ method: "DELETE", path: `/api/mark${at(id)}` }, options),
    /** Removes an experience. Scope `admin`. */
    removeExperience: (id: string, options?: CallOptions) =>
      read<{ id: string }>({ method: "DELETE", path: `/api/experience${at(id)}` }, options),

    /** Returns the entity with this identity; rejects with `ApiError` 404 when there is none. Scope `entity:read`. */
    async entity(table: string, field: string, value: string, query: Query = {}, options?: CallOptions) {
      const path = `/api/entity${at(table, field, value)}${text(query)}`;
      const { data, meta } = await answer<EntityAnswer>({ method: "GET", path }, options);
      return { data, ...(meta === undefined ? {} : { meta }) } satisfies EntityAnswer;
    },

    /**
     * Returns the reason for each segment of an entity, or for the segment `id`, also for one by rule that it is not
     * in; rejects with `ApiError` 404 when there is none. Scope `entity:read`.
     */
    explainSegments: (
      table: string,
      field: string,
      value: string,
      { id, ...options }: CallOptions & { readonly id?: string } = {},
    ) => {
      const path = `/api/entity${at(table, field, value)}/segments${text({ id })}`;
      return read<ExplainedMembership[]>({ method: "GET", path }, options);
    },

    /**
     * Sends any number of messages in requests of up to 500; each is applied once, even if repeated. Yields the tally
     * of each request; positions in its errors count from the first message of that request. Scope `entity:write`.
     */
    async *collect(stream: string, messages: Values, query: Query = {}, options?: CallOptions) {
      let first = 0;
      for await (const { body, count } of linesOf(messages, MESSAGES, MESSAGES_LENGTH)) {
        yield { ...(await collectLines(stream, body, newIdempotencyKey(), query, options)), first };
        first += count;
      }
    },

    /**
     * Sends NDJSON as one request. Under the same `idempotencyKey` (up to 256 characters) it is applied once within 24
     * hours. Scope `entity:write`.
     */
    collectLines,

    /**
     * Yields all data about an entity. Rejects with `ApiError` 404 when there is none, and with `NotReached` when the
     * last line is missing: the response was aborted, or the entity was erased or merged during the export. Scope
     * `entity:export`.
     */
    async *exportEntity(table: string, field: string, value: string, options?: CallOptions) {
      const sent = { method: "POST", path: "/api/entity/export", ...json({ table, field, value }) } as const;
      let last: ExportLine | undefined;
      for await (const line of lines<ExportLine>(sent, options)) {
        last = line;
        yield line;
      }
      if (last?.type !== "end") {
        throw new NotReached(
          "The export is incomplete: it was aborted, or the entity was erased or merged during the export",
        );
      }
    },

    /**
     * Yields the members of a segment and a last line with their number and, if `limit` omitted some, the `after` of
     * the next call. Rejects with `ApiError` 404 for an unknown segment, and with `NotReached` when the last line is
     * missing. Scope `entity:export`.
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

    /**
     * Yields deletion requests, newest first; `state` is `open` (default), `stuck`, `completed` or `all`, `target` the
     * remote target that they wait for. Scope `entity:delete` or `admin`.
     */
    deletions: listOf<ListedDeletion>("/api/deletion"),
    /** Returns one request and the progress of its targets. Scope `entity:delete` or `admin`. */
    deletion: (requestId: string, options?: CallOptions) =>
      read<DeletionState>({ method: "GET", path: `/api/deletion${at(requestId)}` }, options),
    /** Retries a request now; rejects with `ApiError` 409 when it is completed. Scope `admin`. */
    retryDeletion: (requestId: string, options?: CallOptions) =>
      read<DeletionState>({ method: "POST", path: `/api/deletion${at(requestId)}/retry` }, options),
    /** Retries now all requests that wait for this remote target; returns their number. Scope `admin`. */
    retryDeletions: async (target: string, options?: CallOptions) =>
      (await read<{ retried: number }>({ method: "POST", path: "/api/deletion/retry", ...json({ target }) }, options))
        .retried,

    /**
     * Returns what a deletion would erase, in counts; rejects with `ApiError` 404 when no profile has the identity.
     * Scopes `entity:delete` and `entity:read`.
     */
    previewDeletion: (table: string, field: string, value: string, options?: CallOptions) =>
      read<DeletionPreview>(
        { method: "POST", path: "/api/deletion/preview", ...json({ table, field, value }) },
        options,
      ),
    /**
     * Returns the signed receipt of a completed deletion, a compact JWS; rejects with `ApiError` 409 before. Scope
     * `entity:delete`.
     */
    receipt: async (requestId: string, options?: CallOptions) =>
      (
        await send(
          { method: "GET", path: `/api/deletion${at(requestId)}/receipt`, accept: "application/jose" },
          options,
        )
      ).text(),

    /** Returns the public keys that verify receipts (RFC 7517). Needs no key. */
    jwks: (options?: CallOptions) => answer<PublicKeys>({ method: "GET", path: "/.well-known/jwks.json" }, options),

    /** Requests the deletion of the entity with this identity, known or not. Scope `entity:delete`. */
    requestDeletion: (table: string, field: string, value: string, options?: CallOptions) =>
      read<DeletionRequest>({ method: "DELETE", path: `/api/entity${at(table, field, value)}` }, options),

    /**
     * Requests the deletion of up to 1,000 entities in one request; returns a result for each of them, in order. Under
     * the same `idempotencyKey` (up to 256 characters) it returns the same requests within 24 hours. Rejects with
     * `ApiError` 400 when every item is rejected. Scope `entity:delete`.
     */
    requestDeletions: (items: readonly DeletionInput[], idempotencyKey: string, options?: CallOptions) =>
      read<ReceivedDeletion[]>(
        { method: "POST", path: "/api/deletion", ...json(items), headers: { "idempotency-key": idempotencyKey } },
        options,
      ),

    /**
     * Requests the deletion of any number of entities in requests of up to 1,000; each is requested once, even if
     * repeated. Yields a result for each of them, in order. Scope `entity:delete`.
     */
    async *deleteEntities(items: Values<DeletionInput>, options?: CallOptions) {
      for await (const { body } of linesOf(items, DELETIONS, DELETIONS_LENGTH)) {
        yield* await deleteLines(body, newIdempotencyKey(), options);
      }
    },

    /**
     * Sends NDJSON as one request for deletions; returns a result for each line, in order. Under the same
     * `idempotencyKey` (up to 256 characters) it returns the same requests within 24 hours. Scope `entity:delete`.
     */
    deleteLines,

    /** Returns whether the systems of the setting `hooks` take their events. Scope `metric:read`. */
    hooks: (options?: CallOptions) => read<HookStatus[]>({ method: "GET", path: "/api/hook" }, options),

    /** Returns the tables, with what the service accepts as their identities. Scope `entity:delete`. */
    tables: (options?: CallOptions) => read<Table[]>({ method: "GET", path: "/api/table" }, options),

    /** Returns whether a deletion is completed. Scope `entity:delete` or `entity:read`. */
    deletionStatus: (requestId: string, options?: CallOptions) =>
      read<DeletionRequest>({ method: "GET", path: `/api/entity/deletestatus${at(requestId)}` }, options),
  };
}

/** Returns a random key. Pages that another host serves over plain HTTP have no `crypto.randomUUID`. */
function newIdempotencyKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}

/** A line of the response to a request for deletions. */
type ReceivedLine = ReceivedDeletion | { readonly type: "end" } | { readonly type: "error"; readonly status: number };

/** Returns the results of a complete response. Rejects with the error in its last line, and with `NotReached`. */
async function readReceived(response: Response): Promise<ReceivedDeletion[]> {
  const received: ReceivedDeletion[] = [];
  for await (const line of readLines<ReceivedLine>(response)) {
    if (!("type" in line)) received.push(line);
    else if (line.type === "end") return received;
    else throw new ApiError(line.status, response.headers, line);
  }
  throw new NotReached("The response broke off");
}

export type Client = ReturnType<typeof createClient>;

/** Functions that send requests and read responses. */
function calls(send: Send) {
  /** Returns the JSON of a response. */
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
    /** Yields the items of all pages; requests each page when its first item is needed. */
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

/** Returns a query string of the defined values; empty without any. */
function text(query: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? "" : `?${given}`;
}
