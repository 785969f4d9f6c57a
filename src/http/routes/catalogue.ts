import type { CatalogueStore } from "../../catalogue/catalogue-store.js";
import { sizesOf } from "../../catalogue/census.js";
import { deleteSegment } from "../../catalogue/delete-segment.js";
import type { Experience } from "../../catalogue/experience.js";
import type { Segment } from "../../catalogue/segment.js";
import type { SegmentMembers } from "../../catalogue/segment-members.js";
import { invalid, ServiceError } from "../../errors.js";
import type { Api, ApiContext } from "../api-router.js";
import { succeed } from "../envelope.js";
import { fetchPage, PAGE_QUERY, readPage } from "../page.js";
import { readQuery } from "../query.js";
import {
  type BodyLimits,
  readExperience,
  readId,
  readSegment,
  readSegmentId,
  readSegmentIds,
} from "../read-catalogue.js";
import { listPage, sizesPage } from "../schemas/page.js";

export interface CatalogueParts {
  readonly catalogue: CatalogueStore;
  readonly members: SegmentMembers;
  /** Names of the tables that there are. */
  readonly tables: ReadonlySet<string>;
  readonly limits: BodyLimits;
}

const DEFAULT_TABLE = "user";

/** The catalogue of segments and experiences. */
export function catalogueRoutes(api: Api, parts: CatalogueParts): void {
  segmentRoutes(api, parts);
  experienceRoutes(api, parts);
}

function segmentRoutes(api: Api, { catalogue, members, tables, limits }: CatalogueParts): void {
  const withSizes = async (segments: readonly Segment[]) => {
    const ids = segments.map(({ id }) => id);
    const sizes = await sizesOf(ids, members);
    return segments.map((segment, index) => ({ ...segment, size: sizes[index] ?? 0 }));
  };

  const list = async (ctx: ApiContext) => {
    const { table } = readQuery(ctx, ["table"]);
    if (table !== undefined) refuseUnknownTable(table, tables);
    const { items, meta } = await fetchPage(readPage(ctx, listPage), (after, limit) =>
      catalogue.segments(after, limit, table),
    );
    answer(ctx, await withSizes(items), { meta });
  };
  api.add("GET", "/api/segment", ["metric:read"], list, { query: ["table", ...PAGE_QUERY] });

  const sizes = async (ctx: ApiContext) => {
    const ids = readSegmentIds(ctx);
    const { items, meta } = await fetchPage(readPage(ctx, sizesPage), (after, limit) =>
      ids === undefined ? catalogue.segments(after, limit) : namedSegments(catalogue, ids, after, limit),
    );
    const sized = await withSizes(items);
    answer(
      ctx,
      sized.map(({ id, name, size }) => ({ id, name, size })),
      { meta },
    );
  };
  api.add("GET", "/api/segment/sizes", ["metric:read"], sizes, { query: ["ids", ...PAGE_QUERY] });

  api.add("GET", "/api/segment/:id", ["metric:read"], async (ctx) => {
    const [segment] = await withSizes([found(await catalogue.segment(idOf(ctx.params)))]);
    answer(ctx, segment);
  });

  api.add("PUT", "/api/segment/:id", ["admin"], async (ctx) => {
    const id = readSegmentId(ctx);
    const { name = id, table = DEFAULT_TABLE } = await readSegment(ctx, limits);
    refuseUnknownTable(table, tables);
    await catalogue.endMemberships();
    await catalogue.putSegment({ id, name, table });
    const [segment] = await withSizes([{ id, name, table }]);
    answer(ctx, segment);
  });

  api.add("DELETE", "/api/segment/:id", ["admin"], async (ctx) => {
    const id = idOf(ctx.params);
    await deleteSegment(id, catalogue);
    answer(ctx, { id });
  });
}

function experienceRoutes(api: Api, { catalogue, limits }: CatalogueParts): void {
  const list = async (ctx: ApiContext) => {
    const { items, meta } = await fetchPage(readPage(ctx, listPage), (after, limit) =>
      catalogue.experiences(after, limit),
    );
    answer(ctx, items.map(experienceAnswer), { meta });
  };
  api.add("GET", "/api/experience", ["metric:read"], list, { query: PAGE_QUERY });

  api.add("GET", "/api/experience/:id", ["metric:read"], async (ctx) => {
    answer(ctx, experienceAnswer(found(await catalogue.experience(idOf(ctx.params)))));
  });

  api.add("PUT", "/api/experience/:id", ["admin"], async (ctx) => {
    const id = readId(ctx);
    const experience: Experience = { id, name: id, ...(await readExperience(ctx, limits)) };
    const { missing } = await catalogue.putExperience(experience);
    if (missing.length > 0) {
      const message = "There is no such segment in the catalogue";
      throw new ServiceError("invalid", message, {
        problems: missing.map((path) => ({ code: "unknown_segment", path, message })),
      });
    }
    answer(ctx, experienceAnswer(experience));
  });

  api.add("DELETE", "/api/experience/:id", ["admin"], async (ctx) => {
    const id = idOf(ctx.params);
    if (!(await catalogue.deleteExperience(id))) throw new ServiceError("not-found", "Not Found");
    answer(ctx, { id });
  });
}

function refuseUnknownTable(table: string, tables: ReadonlySet<string>): void {
  if (!tables.has(table)) throw invalid("unknown_table", "table", "There is no such table");
}

/** A page of the segments that are named, as the catalogue lists them: in the order of the ids' UTF-8 bytes. */
async function namedSegments(
  catalogue: Pick<CatalogueStore, "segmentsById">,
  ids: readonly string[],
  after: string | undefined,
  limit: number,
): Promise<Segment[]> {
  const found = [...(await catalogue.segmentsById([...new Set(ids)])).values()];
  const inOrder = found.sort((a, b) => compareIds(a.id, b.id));
  return inOrder.filter(({ id }) => after === undefined || compareIds(id, after) > 0).slice(0, limit);
}

function compareIds(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Not kept by anyone on the way: it is for the key that asked. */
function answer(ctx: ApiContext, data: unknown, options: { meta?: unknown } = {}): void {
  ctx.set("Cache-Control", "no-store");
  succeed(ctx, data, options);
}

function idOf(params: Record<string, string>): string {
  return params.id ?? "";
}

function found<T>(item: T | undefined): T {
  if (item === undefined) throw new ServiceError("not-found", "Not Found");
  return item;
}

function experienceAnswer({
  id,
  name,
  group = null,
  audience,
  goal,
}: Omit<Experience, "group"> & { group?: string | null }) {
  return { id, name, group, audience, goal };
}
