import { Type } from "@sinclair/typebox";
import { sizesOf } from "../../catalogue/audience-counts.js";
import type { Segment as CatalogueSegment, CatalogueStore, SegmentMembers } from "../../catalogue/ports.js";
import { deleteSegment } from "../../catalogue/segments.js";
import type { Clock } from "../../clock.js";
import { noSuchTable, type Tables } from "../../entities/profile/entity-tables.js";
import { found, invalid } from "../../errors.js";
import { segment as segmentDimension } from "../../metrics/dimensions.js";
import type { NewestValues } from "../../metrics/query/newest-values.js";
import { RESERVED_SEGMENT_IDS, reservedSegmentIds } from "../../reserved-names.js";
import { compareBytes } from "../../text.js";
import { exampleNames } from "../core/openapi.js";
import { errorEnvelope, fetchPage, PageMeta, pageQuery, success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { compile } from "../core/validation.js";
import { idPage, ListMeta, searchQuery } from "../lists/list-page.js";
import { trendPage, trendSorts, trendSortsText, windowQuery } from "../lists/trend-page.js";
import { Id, idIn, ListedSegment, newIdIn, Removed, Segment, SegmentInput, SegmentSize } from "./schemas.js";

export interface SegmentRouteDependencies {
  readonly catalogue: CatalogueStore;
  readonly members: SegmentMembers;
  readonly tables: Tables;
  readonly newest: NewestValues;
  readonly clock: Clock;
}

const DEFAULT_TABLE = "user";

const sizesPage = pageQuery({ usual: 10_000, most: 10_000 });
const newSegmentId = newIdIn(exampleNames.audience);

const segmentAnswer = success("SegmentAnswer", Segment);

/** Routes of the catalogue's segments. */
export function segmentRoutes(dependencies: SegmentRouteDependencies): readonly Route[] {
  const { catalogue, members, tables, newest, clock } = dependencies;
  const withSizes = async (segments: readonly CatalogueSegment[]) => {
    const ids = segments.map(({ id }) => id);
    const sizes = await sizesOf(ids, members);
    return segments.map((segment, index) => ({ ...segment, size: sizes[index] ?? 0 }));
  };
  const withSize = async (segment: CatalogueSegment) => (await withSizes([segment]))[0] ?? { ...segment, size: 0 };
  const namedSegments = async (ids: readonly string[]) => {
    const named = await catalogue.segmentsById([...new Set(ids)]);
    return [...named.values()].sort((a, b) => compareBytes(a.id, b.id));
  };
  const refuseUnknownTable = (table: string) => {
    if (!tables.has(table)) throw invalid("unknown_table", "table", noSuchTable(tables));
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
      async handler({ query: { table, ...request } }) {
        if (table !== undefined) refuseUnknownTable(table);
        const at = clock();
        return trendPage(request, {
          page: (after, limit) => catalogue.segments(after, limit, table),
          count: () => catalogue.countSegments(table),
          find: async (id) => (await catalogue.segmentsById([id])).get(id),
          trends: (segments, requested) =>
            newest({ dimension: segmentDimension, type: "size", ids: segments.map(({ id }) => id) }, requested, at),
          rows: withSizes,
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
            : idPage(await namedSegments(readIds(ids)), { ...page, order: "asc" });
        const sized = await withSizes(items);
        return { data: sized.map(({ id, name, size }) => ({ id, name, size })), meta: { next: meta.next } };
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
        description: "Use it to read a segment and its current size. Error 404: `not_found`.",
      },
      params: { id: idIn(exampleNames.audience) },
      responses: { 200: segmentAnswer },
      async handler({ params: { id } }) {
        return { data: await withSize(found((await catalogue.segmentsById([id])).get(id), "segment")) };
      },
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
          "Use it to name a segment or set its table; messages create missing segments themselves. Errors 400: `invalid_id`, `reserved_id`, `unknown_table`.",
      },
      params: { id: newSegmentId },
      body: {
        schema: SegmentInput,
        examples: () => ({ segment: { name: "Readers (example)", table: "user" } }),
      },
      responses: { 200: segmentAnswer },
      async handler({ params: { id }, body: { name = id, table = DEFAULT_TABLE } }) {
        if (RESERVED_SEGMENT_IDS.includes(id)) {
          throw invalid("reserved_id", "id", `The id of a segment cannot be ${reservedSegmentIds}`);
        }
        refuseUnknownTable(table);
        await catalogue.putSegment({ id, name, table });
        return { data: await withSize({ id, name, table }) };
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
          "Use it to remove a segment that is no longer needed; its series stays. Errors: 404 `not_found`; 409 `conflict` while an experience uses it.",
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

const isId = compile(Id);

/** Parses the ids of a query parameter, separated by commas. */
function readIds(text: string): readonly string[] {
  const ids = text.split(",");
  if (!ids.every((id) => isId(id))) throw invalid("invalid_id", "ids", `Each id is ${Id.description}`);
  return ids;
}
