import { Type } from "@sinclair/typebox";
import {
  type Segment as CatalogueSegment,
  type CatalogueStore,
  isByRule,
  type SegmentMembers,
} from "../../catalogue/ports.js";
import type { Progress } from "../../catalogue/rule-progress.js";
import { deleteSegment } from "../../catalogue/segments.js";
import type { Clock } from "../../clock.js";
import { checkedTable } from "../../entities/profile/checked-identity.js";
import type { Tables } from "../../entities/profile/entity-tables.js";
import { conflict, found, invalid } from "../../errors.js";
import { timeText } from "../../formats/instant.js";
import { segment as segmentDimension } from "../../metrics/dimensions.js";
import type { NewestValues } from "../../metrics/query/newest-values.js";
import { dimensionIdRule, isDimensionId, RESERVED_SEGMENT_IDS, reservedSegmentIds } from "../../reserved-names.js";
import { changeRule } from "../../segments/change-rule.js";
import { parseRule } from "../../segments/parse-rule.js";
import { compareBytes } from "../../text.js";
import { exampleNames } from "../core/openapi.js";
import { errorEnvelope, fetchPage, PageMeta, pageQuery, success } from "../core/responses.js";
import { type ApiContext, type Route, route } from "../core/route.js";
import { idPage, ListMeta, searchQuery } from "../lists/list-page.js";
import { trendPage, trendSorts, trendSortsText, windowQuery } from "../lists/trend-page.js";
import { idIn, ListedSegment, newIdIn, Removed, Segment, SegmentInput, SegmentSize } from "./schemas.js";

export interface SegmentRouteDependencies {
  readonly catalogue: CatalogueStore;
  /** Returns the progress of each segment that is computing. */
  progress(): Promise<ReadonlyMap<string, Progress>>;
  readonly members: SegmentMembers;
  readonly tables: Tables;
  readonly newest: NewestValues;
  readonly clock: Clock;
}

const sizesPage = pageQuery({ usual: 10_000, most: 10_000 });
const newSegmentId = newIdIn(exampleNames.audience);

const segmentAnswer = success("SegmentAnswer", Segment);

/** Routes of the catalogue's segments. */
export function segmentRoutes(dependencies: SegmentRouteDependencies): readonly Route[] {
  const { catalogue, progress, members, tables, newest, clock } = dependencies;
  const sizes = (segments: readonly CatalogueSegment[]) => members.sizes(segments.map(({ id }) => id));
  /** A rule can contain personal data: only a key with `admin` reads it. */
  const toWire = async (segments: readonly CatalogueSegment[], { state }: ApiContext) => {
    const [sized, progressOf] = await Promise.all([sizes(segments), segments.some(isByRule) ? progress() : undefined]);
    return segments.map(({ id, name, table, byRule }, index) => {
      const computing = progressOf?.get(id);
      return {
        id,
        name,
        table,
        size: sized[index] ?? 0,
        by_rule: byRule !== undefined,
        computing: computing === undefined ? null : { ...computing, since: timeText(computing.since) },
        ...(byRule === undefined || !state.scopes.has("admin") ? {} : { rule: { ...byRule.rule } }),
      };
    });
  };
  const read = async (id: string, ctx: ApiContext) => {
    const segment = found((await catalogue.segmentsById([id])).get(id), "segment");
    const [row] = await toWire([segment], ctx);
    return { data: row as NonNullable<typeof row> };
  };
  const namedSegments = async (ids: readonly string[]) => {
    const named = await catalogue.segmentsById([...new Set(ids)]);
    return [...named.values()].sort((a, b) => compareBytes(a.id, b.id));
  };

  return [
    route({
      method: "GET",
      path: "/api/segment",
      scopes: ["metric:read"],
      docs: {
        id: "listSegments",
        tag: "catalogue",
        summary: "List segments",
        description:
          "Use it to list, search and rank segments. With `range`, each row also has the newest saved size and the one a range earlier, with `startdate` and `enddate` those at the end and the start of the window; null without a saved size in the window or in the 4 weeks before its end. Errors 400: `unknown_table`, `invalid_range`, `invalid_date`, `range_with_date`, `end_before_start`, `range_required`, `unknown_sort`, `too_many_entries`; with another `sort` than `id` also `invalid_after`.",
      },
      query: {
        table: Type.Optional(Type.String({ description: "Only segments of this table." })),
        ...searchQuery(
          ["size", ...trendSorts],
          `By \`size\`, the newest saved size, rows without one last. ${trendSortsText}`,
        ),
        ...windowQuery,
      },
      responses: { 200: success("SegmentsAnswer", Type.Array(ListedSegment), { meta: ListMeta }) },
      async handler({ ctx, query: { table, ...request } }) {
        if (table !== undefined) checkedTable(table, tables);
        const at = clock();
        return trendPage(request, {
          page: (after, limit) => catalogue.segments(after, limit, table),
          count: () => catalogue.countSegments(table),
          find: async (id) => (await catalogue.segmentsById([id])).get(id),
          trends: (segments, requested) =>
            newest({ dimension: segmentDimension, type: "size", ids: segments.map(({ id }) => id) }, requested, at),
          rows: (segments) => toWire(segments, ctx),
        });
      },
    }),
    route({
      method: "GET",
      path: "/api/segment/sizes",
      scopes: ["metric:read"],
      docs: {
        id: "listSegmentSizes",
        tag: "catalogue",
        summary: "List the current sizes of segments",
        description:
          "Use it to read the live sizes of many segments at once, in order of id. Errors 400: `invalid_id`, `invalid_limit`.",
      },
      query: {
        ids: Type.Optional(
          Type.String({
            minLength: 1,
            description: "Only these segments: ids, separated by commas. Omit it for all; empty, it is an error.",
          }),
        ),
        ...sizesPage,
      },
      responses: { 200: success("SegmentSizesAnswer", Type.Array(SegmentSize), { meta: PageMeta }) },
      async handler({ query: { ids, ...page } }) {
        const { items, meta } =
          ids === undefined
            ? await fetchPage(page, (after, limit) => catalogue.segments(after, limit))
            : await idPage([await namedSegments(readIds(ids))], { ...page, order: "asc" });
        const sized = await sizes(items);
        return { data: items.map(({ id, name }, i) => ({ id, name, size: sized[i] ?? 0 })), meta: { next: meta.next } };
      },
    }),
    route({
      method: "GET",
      path: "/api/segment/:id",
      scopes: ["metric:read"],
      docs: {
        id: "readSegment",
        tag: "catalogue",
        summary: "Read a segment",
        description:
          "Use it to read a segment, its current size and, after a change of its rule, the progress. `rule` is present for a key with `admin`. Error 404: `not_found`.",
      },
      params: { id: idIn(exampleNames.audience) },
      responses: { 200: segmentAnswer },
      handler: ({ ctx, params: { id } }) => read(id, ctx),
    }),
    route({
      method: "PUT",
      path: "/api/segment/:id",
      scopes: ["admin"],
      docs: {
        id: "putSegment",
        tag: "catalogue",
        summary: "Create or replace a segment",
        description:
          "Use it to name a segment or set its table; messages create missing segments themselves. With `rule`, the service decides who is in it: new messages from this response on, all other profiles after it (`computing`). A repeat with the same rule changes nothing. Errors: 400 `invalid_id`, `reserved_id`, `unknown_table`, and for a rule, with its position, `not_an_object`, `unknown_field`, `invalid_type`, `invalid_value`, `unknown_segment`, `identity_in_rule`, `cyclic_rule`, `rule_too_large`, `too_many_rules`; 409 `by_rule` without `rule` for a segment by rule, `pushed` with `rule` for one that messages name, `other_table`.",
      },
      params: { id: newSegmentId },
      body: {
        schema: SegmentInput,
        limitsNesting: true,
        examples: { segment: { name: "Readers (example)", table: "user" } },
      },
      responses: { 200: segmentAnswer, 409: errorEnvelope },
      async handler({ ctx, params: { id }, body: { name = id, table: tableName, rule } }) {
        if (RESERVED_SEGMENT_IDS.includes(id)) {
          throw invalid("reserved_id", "id", `The id of a segment cannot be ${reservedSegmentIds}`);
        }
        const { name: table, identities } = checkedTable(tableName, tables);
        const segment = { id, name, table };
        if (rule !== undefined) {
          await changeRule(catalogue, { ...segment, rule: parseRule(rule, identities) }, clock());
        } else if ((await catalogue.putSegment(segment)) === "by-rule") {
          throw conflict("by_rule", "rule", "A rule decides who is in this segment: send it, or delete the segment");
        }
        return read(id, ctx);
      },
    }),
    route({
      method: "DELETE",
      path: "/api/segment/:id",
      scopes: ["admin"],
      docs: {
        id: "deleteSegment",
        tag: "catalogue",
        summary: "Delete a segment and its memberships",
        description:
          "Use it to remove a segment that is no longer needed; its series stays. Errors: 404 `not_found`; 409 `conflict` while an experience or a rule names it.",
      },
      params: { id: idIn(exampleNames.spare) },
      responses: { 200: success("RemovedAnswer", Removed), 409: errorEnvelope },
      async handler({ params: { id } }) {
        await deleteSegment(id, clock(), catalogue);
        return { data: { id } };
      },
    }),
  ];
}

/** Parses the ids of a query parameter, separated by commas. */
function readIds(text: string): readonly string[] {
  const ids = text.split(",");
  if (!ids.every(isDimensionId)) throw invalid("invalid_id", "ids", `Each id is ${dimensionIdRule}`);
  return ids;
}
