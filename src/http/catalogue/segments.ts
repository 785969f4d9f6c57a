import { Type } from "@sinclair/typebox";
import { sizesOf } from "../../catalogue/audience-counts.js";
import type { Segment as CatalogueSegment, CatalogueStore, SegmentMembers } from "../../catalogue/ports.js";
import { deleteSegment } from "../../catalogue/segments.js";
import { found, invalid } from "../../errors.js";
import { compareBytes, RESERVED_SEGMENT_IDS } from "../../names.js";
import { exampleNames } from "../openapi.js";
import { errorEnvelope, fetchPage, listQuery, PageMeta, pageQuery, success } from "../responses.js";
import { type Route, route } from "../route.js";
import { compile } from "../validation.js";
import { Id, idIn, newIdIn, Removed, Segment, SegmentInput, SegmentSize } from "./schemas.js";

export interface SegmentParts {
  readonly catalogue: CatalogueStore;
  readonly members: SegmentMembers;
  /** Names of the tables that there are. */
  readonly tables: ReadonlySet<string>;
}

const DEFAULT_TABLE = "user";

const sizesPage = pageQuery({ usual: 10_000, most: 10_000 });
const newSegmentId = newIdIn(exampleNames.audience);

const segmentAnswer = success("SegmentAnswer", Segment);

/** The segments of the catalogue. */
export function segmentRoutes({ catalogue, members, tables }: SegmentParts): readonly Route[] {
  const withSizes = async (segments: readonly CatalogueSegment[]) => {
    const ids = segments.map(({ id }) => id);
    const sizes = await sizesOf(ids, members);
    return segments.map((segment, index) => ({ ...segment, size: sizes[index] ?? 0 }));
  };
  const withSize = async (segment: CatalogueSegment) => {
    const [size = 0] = await sizesOf([segment.id], members);
    return { ...segment, size };
  };
  const refuseUnknownTable = (table: string) => {
    if (!tables.has(table)) throw invalid("unknown_table", "table", "There is no such table");
  };

  return [
    route({
      method: "GET",
      path: "/api/segment",
      scopes: ["metric:read"],
      docs: { id: "listSegments", tag: "catalogue", summary: "Segments", description: "In order of id." },
      query: {
        table: Type.Optional(Type.String({ description: "Segments of this table alone." })),
        ...listQuery,
      },
      responses: { 200: success("SegmentsAnswer", Type.Array(Segment), { meta: PageMeta }) },
      async handler({ query: { table, ...page } }) {
        if (table !== undefined) refuseUnknownTable(table);
        const { items, meta } = await fetchPage(page, (after, limit) => catalogue.segments(after, limit, table));
        return { data: await withSizes(items), meta };
      },
    }),
    route({
      method: "GET",
      path: "/api/segment/sizes",
      scopes: ["metric:read"],
      docs: { id: "listSegmentSizes", tag: "catalogue", summary: "Sizes of segments", description: "In order of id." },
      query: {
        ids: Type.Optional(Type.String({ description: "These segments alone: ids, separated by commas." })),
        ...sizesPage,
      },
      responses: { 200: success("SegmentSizesAnswer", Type.Array(SegmentSize), { meta: PageMeta }) },
      async handler({ query: { ids, ...page } }) {
        const named = ids === undefined ? undefined : readIds(ids);
        const { items, meta } = await fetchPage(page, (after, limit) =>
          named === undefined ? catalogue.segments(after, limit) : namedSegments(catalogue, named, after, limit),
        );
        const sized = await withSizes(items);
        return { data: sized.map(({ id, name, size }) => ({ id, name, size })), meta };
      },
    }),
    route({
      method: "GET",
      path: "/api/segment/:id",
      scopes: ["metric:read"],
      docs: { id: "readSegment", tag: "catalogue", summary: "A segment" },
      params: { id: idIn(exampleNames.audience) },
      responses: { 200: segmentAnswer },
      async handler({ params: { id } }) {
        return { data: await withSize(found(await catalogue.segment(id))) };
      },
    }),
    route({
      method: "PUT",
      path: "/api/segment/:id",
      scopes: ["admin"],
      docs: { id: "putSegment", tag: "catalogue", summary: "Make or change a segment" },
      params: { id: newSegmentId },
      body: {
        schema: SegmentInput,
        examples: () => ({ segment: { name: "Readers (example)", table: "user" } }),
      },
      responses: { 200: segmentAnswer },
      async handler({ params: { id }, body: { name = id, table = DEFAULT_TABLE } }) {
        if (RESERVED_SEGMENT_IDS.includes(id)) {
          throw invalid("reserved_id", "id", `A segment cannot be called ${RESERVED_SEGMENT_IDS.join(" or ")}`);
        }
        refuseUnknownTable(table);
        await catalogue.endMemberships();
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
        summary: "Remove a segment and its memberships",
        description: "Its series stays. Refused while an experience names it.",
      },
      params: { id: idIn(exampleNames.spare) },
      responses: { 200: success("RemovedAnswer", Removed), 409: errorEnvelope },
      async handler({ params: { id } }) {
        await deleteSegment(id, catalogue);
        return { data: { id } };
      },
    }),
  ];
}

const isId = compile(Id);

/** The ids that a query parameter names, separated by commas. */
function readIds(text: string): readonly string[] {
  const ids = text.split(",");
  if (!ids.every((id) => isId(id))) throw invalid("bad_id", "ids", `Each id is ${Id.description}`);
  return ids;
}

/** A page of the segments that are named, as the catalogue lists them: in the order of the ids' UTF-8 bytes. */
async function namedSegments(
  catalogue: Pick<CatalogueStore, "segmentsById">,
  ids: readonly string[],
  after: string | undefined,
  limit: number,
): Promise<CatalogueSegment[]> {
  const named = [...(await catalogue.segmentsById([...new Set(ids)])).values()];
  const inOrder = named.sort((a, b) => compareBytes(a.id, b.id));
  return inOrder.filter(({ id }) => after === undefined || compareBytes(id, after) > 0).slice(0, limit);
}
