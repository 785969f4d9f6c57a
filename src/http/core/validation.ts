import type { Static, TSchema } from "@sinclair/typebox";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { invalid, ServiceError, type ValidationIssue } from "../../errors.js";
import { nearestWord } from "../../text.js";
import type { SchemaIssue } from "./route.js";

const ajv = new Ajv2020({ allowUnionTypes: true }).addVocabulary(["issue"]);

/** Whether a value is what a schema describes. */
export function compile<S extends TSchema>(schema: S): ValidateFunction<Static<S>> {
  return ajv.compile<Static<S>>(schema);
}

/** A check of one parameter: throws in the words of its schema's `issue`, if it has one and the value breaks the schema. */
export function parameterCheck(name: string, schema: TSchema): ((value: unknown) => void) | undefined {
  const issue: SchemaIssue | undefined = schema.issue;
  if (issue === undefined) return undefined;
  const isValid = compile(schema);
  return (value) => {
    if (!isValid(value)) throw invalid(issue.code, name, issue.message);
  };
}

type Fields = Readonly<Record<string, TSchema>>;

/** A check of a JSON body that is an object; a field that is null counts as absent. Throws, or returns what is given. */
export function bodyCheck(schema: TSchema): (json: unknown) => object {
  const isValid = compile(schema);
  const fields: Fields = schema.properties;
  return (json) => {
    if (typeof json !== "object" || json === null || Array.isArray(json)) {
      throw invalid("not_an_object", "", "The body must be a JSON object");
    }
    const issues = new Issues();
    unknownFields(json, Object.keys(fields), "", issues);
    issues.throwIfAny("The body has fields that are not known");
    const given: object = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
    if (!isValid(given)) throw bodyError(isValid.errors?.[0], fields);
    return given;
  };
}

/** The first thing that is wrong, in words of ours. */
function bodyError(error: ErrorObject | undefined, fields: Fields): ServiceError {
  if (error?.keyword === "required") {
    const field = String(error.params.missingProperty);
    return invalid("required", field, `${field} is required`);
  }
  const [field = ""] = error?.instancePath.slice(1).split("/") ?? [];
  const schema = fields[field];
  const expected = typeWords[schema?.type] ?? "Another value";
  const rule = schema?.description ?? "The body is not as it should be";
  return invalid(error?.keyword === "type" ? "bad_type" : "bad_value", field, `${expected} is expected. ${rule}`);
}

const typeWords: Readonly<Record<string, string>> = {
  string: "A text",
  integer: "A whole number",
  number: "A number",
  boolean: "True or false",
  array: "A list",
  object: "An object",
};

/** Adds an issue for each field of a JSON object that is not one of `known`; it names the nearest of these. */
export function unknownFields(object: object, known: readonly string[], path: string, issues: Issues): void {
  for (const name of Object.keys(object)) {
    if (issues.full) return;
    if (known.includes(name)) continue;
    issues.add(
      "unknown_field",
      path,
      `There is a field that is not known; the nearest known one is ${nearestWord(name, known).word}`,
    );
  }
}

/** As many issues as an answer names. */
const NAMED = 100;

/** What is wrong with a request, issue by issue; the first hundred are named. */
export class Issues {
  readonly #named: ValidationIssue[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Whether as many are noted as will be named: nothing is gained by looking further. */
  get full(): boolean {
    return this.#count >= NAMED;
  }

  add(code: string, path: string, message: string): void {
    this.#count += 1;
    if (this.#named.length < NAMED) this.#named.push({ code, path, message });
  }

  /** Refuses the request when there is an issue; the message may be made from the first one. */
  throwIfAny(message: string | ((first: ValidationIssue) => string)): void {
    const [first] = this.#named;
    if (first === undefined) return;
    const text = typeof message === "string" ? message : message(first);
    throw new ServiceError("invalid", text, { issues: this.#named });
  }
}
