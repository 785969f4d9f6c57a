import { type Static, Type } from "@sinclair/typebox";
import { type Mark as CatalogueMark, MAX_MARKS, type MarkStore } from "../../catalogue/ports.js";
import type { Clock } from "../../clock.js";
import { conflict, found, invalid, notFound } from "../../errors.js";
import { instantForms } from "../../formats/instant.js";
import { dimensionNamed, dimensionNames } from "../../metrics/dimensions.js";
import { readInstant } from "../../metrics/query/time-window.js";
import { dimensionIdRule, isDimensionId } from "../../reserved-names.js";
import { exampleNames } from "../core/openapi.js";
import { errorEnvelope, fetchPage, listQuery, oneOf, PageMeta, success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { Id, idIn, newIdIn, Removed } from "./schemas.js";

const instant = `${instantForms}, now, or \`now-<n><unit>\``;

const dimensionRule = `dimension must be one of ${dimensionNames.join(", ")}`;
const textRule = "1 to 200 characters, without control characters";

const Text = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: "^[^\\p{Cc}\\p{Cs}]*$",
  description: textRule,
  issue: { code: "invalid_value", message: `text must be ${textRule}` },
});

const scope = {
  dimension: Type.Optional(
    oneOf(dimensionNames, {
      description: "Dimension that it concerns. Default: all.",
      issue: { code: "unknown_dimension", message: dimensionRule },
    }),
  ),
  dimension_id: Type.Optional(Type.String({ description: "Id within the dimension. Default: all of them." })),
};

export const MarkInput = Type.Object(
  {
    ts: Type.Unsafe<string | number>({
      type: ["string", "integer"],
      description: `The instant: an ${instant}; epoch times also as a number.`,
    }),
    text: Text,
    ...scope,
  },
  { title: "MarkInput", description: "A dated note for charts.", additionalProperties: false },
);

export const Mark = Type.Object(
  { id: Id, ts: Type.String({ description: "Unix ms." }), text: Text, ...scope },
  { title: "Mark", additionalProperties: false },
);

export interface MarkRouteDependencies {
  readonly marks: MarkStore;
  readonly clock: Clock;
}

const markAnswer = success("MarkAnswer", Mark);

/** Routes of the marks, dated notes for charts. */
export function markRoutes({ marks, clock }: MarkRouteDependencies): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/mark",
      scopes: ["metric:read"],
      docs: {
        id: "listMarks",
        tag: "catalogue",
        summary: "List marks",
        description:
          "Use it to draw releases, campaigns and other dated notes on charts, in order of id. Errors 400: `invalid_date`, `unknown_dimension`, `invalid_dimension_id`, `invalid_limit`.",
      },
      query: {
        startdate: Type.Optional(Type.String({ description: `Only marks from this instant on: an ${instant}.` })),
        enddate: Type.Optional(Type.String({ description: "Only marks before this instant." })),
        dimension: Type.Optional(Type.String({ description: "Only marks of this dimension." })),
        dimension_id: Type.Optional(Type.String({ description: "Only marks of this id; needs `dimension`." })),
        ...listQuery,
      },
      responses: { 200: success("MarksAnswer", Type.Array(Mark), { meta: PageMeta }) },
      async handler({ query: { startdate, enddate, dimension, dimension_id, ...page } }) {
        const now = clock();
        const filter = {
          from: startdate === undefined ? Number.MIN_SAFE_INTEGER : readInstant(startdate, "startdate", now).at,
          to: enddate === undefined ? Number.MAX_SAFE_INTEGER : readInstant(enddate, "enddate", now).at,
          ...readScope({ dimension, dimension_id }),
        };
        const { items, meta } = await fetchPage(page, (after, limit) => marks.marks(filter, after, limit));
        return { data: items.map(toWire), meta };
      },
    }),
    route({
      method: "GET",
      path: "/api/mark/:id",
      scopes: ["metric:read"],
      docs: { id: "readMark", tag: "catalogue", summary: "Read a mark", description: "Error 404: `not_found`." },
      params: { id: idIn(exampleNames.mark) },
      responses: { 200: markAnswer },
      async handler({ params: { id } }) {
        return { data: toWire(found(await marks.mark(id), "mark")) };
      },
    }),
    route({
      method: "PUT",
      path: "/api/mark/:id",
      scopes: ["metric:write"],
      docs: {
        id: "putMark",
        tag: "catalogue",
        summary: "Create or replace a mark",
        description: `Use it to note a release or a campaign on charts; at most ${MAX_MARKS} marks exist. Errors: 400 \`invalid_id\`, \`invalid_date\`, \`required\`, \`unknown_dimension\`, \`invalid_dimension_id\`; 409 \`too_many_marks\`.`,
      },
      params: { id: newIdIn(exampleNames.mark) },
      body: {
        schema: MarkInput,
        examples: { release: { ts: "now", text: "Release 2.0 (example)" } },
      },
      responses: { 200: markAnswer, 409: errorEnvelope, 422: errorEnvelope },
      async handler({ params: { id }, body: { ts, text, ...named } }) {
        const mark = { id, at: readInstant(ts, "ts", clock()).at, text, ...readScope(named) };
        if (!(await marks.putMark(mark, MAX_MARKS))) {
          throw conflict("too_many_marks", "id", `At most ${MAX_MARKS} marks can exist: delete some first`);
        }
        return { data: toWire(mark) };
      },
    }),
    route({
      method: "DELETE",
      path: "/api/mark/:id",
      scopes: ["metric:write"],
      docs: { id: "deleteMark", tag: "catalogue", summary: "Delete a mark", description: "Error 404: `not_found`." },
      params: { id: idIn(exampleNames.mark) },
      responses: { 200: success("RemovedAnswer", Removed) },
      async handler({ params: { id } }) {
        if (!(await marks.deleteMark(id))) throw notFound("mark");
        return { data: { id } };
      },
    }),
  ];
}

function toWire({ id, at, text, dimension, dimensionId }: CatalogueMark): Static<typeof Mark> {
  const ofDimension = dimension === undefined ? {} : { dimension };
  return {
    id,
    ts: String(at),
    text,
    ...ofDimension,
    ...(dimensionId === undefined ? {} : { dimension_id: dimensionId }),
  };
}

interface RequestedScope {
  readonly dimension?: string | undefined;
  readonly dimension_id?: string | undefined;
}

/** Returns the dimension by its own name, and the id. */
function readScope({ dimension: name, dimension_id: dimensionId }: RequestedScope) {
  if (name === undefined) {
    if (dimensionId !== undefined) throw invalid("required", "dimension", "dimension_id needs dimension");
    return {};
  }
  const dimension = dimensionNamed(name)?.name;
  if (dimension === undefined) {
    throw invalid("unknown_dimension", "dimension", dimensionRule);
  }
  if (dimensionId === undefined) return { dimension };
  if (!isDimensionId(dimensionId))
    throw invalid("invalid_dimension_id", "dimension_id", `dimension_id must be ${dimensionIdRule}`);
  return { dimension, dimensionId };
}
