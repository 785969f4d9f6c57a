import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { invalid } from "../errors.js";
import { RESERVED_SEGMENT_IDS } from "../reserved-names.js";
import type { ApiContext } from "./api-router.js";
import { readJson } from "./body.js";
import { unknownFields } from "./known-fields.js";
import { Problems } from "./problems.js";
import { readQuery } from "./query.js";
import { experienceBodySchema, idSchema, segmentBodySchema } from "./schemas/catalogue.js";

export interface BodyLimits {
  readonly body_bytes: number;
  readonly nesting: number;
}

export interface SegmentBody {
  readonly name?: string;
  readonly table?: string;
}

export interface ExperienceBody {
  readonly name?: string;
  readonly group?: string;
  readonly audience: string;
  readonly goal: string;
}

const ajv = new Ajv2020();
const isId = ajv.compile<string>(idSchema);
const isSegment = ajv.compile<SegmentBody>(segmentBodySchema);
const isExperience = ajv.compile<ExperienceBody>(experienceBodySchema);

/** The id in the path of something that is put into the catalogue. */
export function readId(ctx: ApiContext): string {
  const id: unknown = ctx.params.id;
  if (!isId(id)) throw invalid("bad_id", "id", idSchema.description);
  return id;
}

export function readSegmentId(ctx: ApiContext): string {
  const id = readId(ctx);
  if (RESERVED_SEGMENT_IDS.includes(id))
    throw invalid("reserved_id", "id", `A segment cannot be called ${RESERVED_SEGMENT_IDS.join(" or ")}`);
  return id;
}

/** The ids that the query parameter `ids` names, separated by commas; undefined when it is not given. */
export function readSegmentIds(ctx: ApiContext): readonly string[] | undefined {
  const ids = readQuery(ctx, ["ids"]).ids?.split(",");
  if (ids?.every((id) => isId(id)) === false) throw invalid("bad_id", "ids", `Each id is ${idSchema.description}`);
  return ids;
}

export function readSegment(ctx: ApiContext, limits: BodyLimits): Promise<SegmentBody> {
  return readBody(ctx, limits, isSegment, segmentBodySchema.properties);
}

export function readExperience(ctx: ApiContext, limits: BodyLimits): Promise<ExperienceBody> {
  return readBody(ctx, limits, isExperience, experienceBodySchema.properties);
}

async function readBody<T>(
  ctx: ApiContext,
  limits: BodyLimits,
  check: ValidateFunction<T>,
  fields: Readonly<Record<string, { readonly description: string }>>,
): Promise<T> {
  const json = await readJson(ctx, limits.body_bytes, limits.nesting);
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw invalid("not_an_object", "", "The body must be a JSON object");
  }
  const problems = new Problems();
  unknownFields(json, Object.keys(fields), "", problems);
  problems.refuseIfAny("The body has fields that are not known");
  const given: unknown = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
  if (!check(given)) throw refusal(check.errors?.[0], fields);
  return given;
}

/** The first thing that is wrong, in words of ours. */
function refusal(error: ErrorObject | undefined, fields: Readonly<Record<string, { readonly description: string }>>) {
  if (error?.keyword === "required") {
    const field = String(error.params.missingProperty);
    return invalid("required", field, `${field} is required`);
  }
  const field = error?.instancePath.slice(1) ?? "";
  const rule = fields[field]?.description ?? "The body is not as it should be";
  return invalid(error?.keyword === "type" ? "bad_type" : "bad_value", field, `A text is expected. ${rule}`);
}
