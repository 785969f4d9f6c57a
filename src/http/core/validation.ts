import type { Static, TSchema } from "@sinclair/typebox";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { invalid, ServiceError, type ValidationIssue } from "../../errors.js";
import { knownNames } from "../../text.js";
import type { SchemaIssue } from "./route.js";

// The schemas are valid, as the tests of the OpenAPI document show.
const ajv = new Ajv2020({ validateSchema: false, allowUnionTypes: true }).addVocabulary(["issue"]);

/** Returns the source of a validator, which compiles the schema when it is first needed, so that a start is faster. */
function validatorOf<S extends TSchema>(schema: S): () => ValidateFunction<Static<S>> {
  let compiled: ValidateFunction<Static<S>> | undefined;
  return () => (compiled ??= ajv.compile<Static<S>>(schema));
}

/**
 * Creates the check of one parameter; undefined when its schema has no `issue`. The check throws that issue for an
 * invalid value.
 */
export function parameterCheck(name: string, schema: TSchema): ((value: unknown) => void) | undefined {
  const issue: SchemaIssue | undefined = schema.issue;
  if (issue === undefined) return undefined;
  const validator = validatorOf(schema);
  return (value) => {
    if (!validator()(value)) throw invalid(issue.code, name, issue.message);
  };
}

type Fields = Readonly<Record<string, TSchema>>;

/** Creates the check of a JSON object, such as a body. It throws, or returns the fields that are not null. */
export function bodyCheck<S extends TSchema>(schema: S, what = "The body"): (json: unknown) => Static<S> {
  const validator = validatorOf(schema);
  const fields: Fields = schema.properties;
  return (json) => {
    if (typeof json !== "object" || json === null || Array.isArray(json)) {
      throw invalid("not_an_object", "", `${what} must be a JSON object`);
    }
    const issues = new Issues();
    unknownFields(json, Object.keys(fields), "", issues);
    issues.throwIfAny(`${what} has unknown fields`);
    const given: object = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
    const isValid = validator();
    if (!isValid(given)) throw bodyError(isValid.errors?.[0], fields, what);
    return given as Static<S>;
  };
}

/** Converts the first schema error to a `ServiceError`: the `issue` of the field, or the words of the validator. */
function bodyError(error: ErrorObject | undefined, fields: Fields, what: string): ServiceError {
  if (error?.keyword === "required") {
    const field = String(error.params.missingProperty);
    return invalid("required", field, `${field} is required`);
  }
  const [field = "", ...inner] = error?.instancePath.slice(1).split("/") ?? [];
  const subject = field === "" ? what : inner.length === 0 ? field : `A value in ${field}`;
  if (error?.keyword === "type") {
    return invalid("invalid_type", field, `${subject} must be ${[error.params.type].flat().join(" or ")}`);
  }
  const issue: SchemaIssue | undefined = fields[field]?.issue;
  return invalid(issue?.code ?? "invalid_value", field, issue?.message ?? `${subject} ${error?.message}`);
}

/** Adds an issue with the known names that it may mean for each unknown field of a JSON object. */
export function unknownFields(object: object, known: readonly string[], path: string, issues: Issues): void {
  for (const name of Object.keys(object)) {
    if (issues.full) return;
    if (known.includes(name)) continue;
    issues.add("unknown_field", path, `Unknown field; ${knownNames(name, known)}`);
  }
}

/** Maximum issues per response. */
const MAX_ISSUES = 100;

/** Collects the issues of a request and keeps the first 100. */
export class Issues {
  readonly #named: ValidationIssue[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Whether the maximum is reached, so that further checks are pointless. */
  get full(): boolean {
    return this.#count >= MAX_ISSUES;
  }

  add(code: string, path: string, message: string): void {
    this.#count += 1;
    if (this.#named.length < MAX_ISSUES) this.#named.push({ code, path, message });
  }

  /** Throws `invalid` when there is an issue. The message may depend on the first one. */
  throwIfAny(message: string | ((first: ValidationIssue) => string)): void {
    const [first] = this.#named;
    if (first === undefined) return;
    const text = typeof message === "string" ? message : message(first);
    throw new ServiceError("invalid", text, { issues: this.#named });
  }
}
