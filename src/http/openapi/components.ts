import { isDeepStrictEqual } from "node:util";

/** A part of a JSON Schema. */
type Schema = Readonly<Record<string, unknown>>;

/**
 * The named schemas of a document. A schema with a title stands once among the components, under its title, and is a
 * reference everywhere else.
 */
export class Components {
  readonly schemas: Record<string, Schema> = {};

  /**
   * The schema as the document shows it: a reference when it has a title. Patterns with `\p{…}` are left out, because the
   * regular expressions of most languages do not know it; the service checks them all the same.
   */
  add(schema: object): Schema {
    const { title, pattern, issue: _, ...rest } = eachType(schema as Schema);
    const shown: Record<string, unknown> = Object.fromEntries(
      Object.entries(rest).map(([keyword, value]) => [keyword, this.#addIn(keyword, value)]),
    );
    const format = formatOf(shown);
    if (format !== undefined) shown.format = format;
    if (typeof pattern === "string" && !pattern.includes("\\p{")) shown.pattern = pattern;
    return typeof title === "string" ? this.#refer(title, shown) : shown;
  }

  #addIn(keyword: string, value: unknown): unknown {
    if (keyword === "properties") {
      return Object.fromEntries(
        Object.entries(value as Schema).map(([name, part]) => [name, this.add(part as Schema)]),
      );
    }
    if (keyword === "oneOf" || keyword === "anyOf") return (value as Schema[]).map((part) => this.add(part));
    if (keyword === "items") return this.add(value as Schema);
    if (keyword === "additionalProperties" && typeof value === "object") return this.add(value as Schema);
    return value;
  }

  /** A reference, with what this use of the schema says otherwise than the first one. */
  #refer(title: string, schema: Schema): Schema {
    this.schemas[title] ??= schema;
    const { description, deprecated, ...content } = schema;
    const { description: first, deprecated: _, ...known } = this.schemas[title];
    if (!isDeepStrictEqual(known, content)) throw new Error(`Two schemas have the title ${title}`);
    return {
      $ref: `#/components/schemas/${title}`,
      ...(description === undefined || description === first ? {} : { description }),
      ...(deprecated === undefined ? {} : { deprecated }),
    };
  }
}

/** How wide a number is. Generated clients take 32 bits unless told, too few for Unix ms and for sums. */
function formatOf({ type, maximum, const: value }: Schema): string | undefined {
  const types = [type].flat();
  if (types.includes("number")) return "double";
  return types.includes("integer") && maximum === undefined && value === undefined ? "int64" : undefined;
}

/** A choice of types, null aside, as a choice of schemas: generated clients then know the width of a number in it. */
function eachType({ type, maxLength, ...rest }: Schema): Schema {
  const length = maxLength === undefined ? {} : { maxLength };
  if (!Array.isArray(type) || type.includes("null"))
    return { ...(type === undefined ? {} : { type }), ...length, ...rest };
  return { ...rest, oneOf: type.map((name) => ({ type: name, ...(name === "string" ? length : {}) })) };
}
