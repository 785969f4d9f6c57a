import { Type } from "@sinclair/typebox";
import { computingSegments } from "../../catalogue/computing.js";
import type { CatalogueStore } from "../../catalogue/ports.js";
import type { Clock } from "../../clock.js";
import { checkedTable } from "../../entities/profile/checked-identity.js";
import type { Tables } from "../../entities/profile/entity-tables.js";
import { type PreviewDependencies, previewRule } from "../../entities/read/preview-rule.js";
import { invalid } from "../../errors.js";
import { checkRule } from "../../segments/change-rule.js";
import { parseRule } from "../../segments/parse-rule.js";
import { success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { Rule } from "./schemas.js";

export interface PreviewRouteDependencies extends PreviewDependencies {
  readonly catalogue: Pick<CatalogueStore, "rules" | "segmentsById">;
  readonly tables: Tables;
  readonly clock: Clock;
}

export const PreviewInput = Type.Object(
  {
    table: Type.Optional(Type.String({ description: "Table of the profiles. Default: `user`." })),
    rule: Rule,
    id: Type.Optional(Type.String({ description: "The segment by rule whose rule this would become." })),
  },
  { title: "RulePreviewInput", description: "A rule to try.", additionalProperties: false },
);

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const Preview = Type.Object(
  {
    of: count("Profiles of the table."),
    sampled: count("Profiles that were looked at."),
    matching: count("Profiles among them that match."),
    estimate: count("Estimated number of profiles of the table that match."),
    low: count("Lower bound of the 95 % interval of the estimate."),
    high: count("Upper bound of it."),
    exact: Type.Boolean({ description: "Whether every profile was looked at." }),
    computing: Type.Boolean({ description: "Whether a segment that the rule names is computing." }),
    joining: Type.Optional(count("Estimated number of profiles that would enter the segment `id`.")),
    leaving: Type.Optional(count("Estimated number of profiles that would leave the segment `id`.")),
  },
  { title: "RulePreview", additionalProperties: false },
);

/** An id that no segment can have. */
const NO_SEGMENT = "";

/** Route that counts the matches of a rule. */
export function previewRoutes(dependencies: PreviewRouteDependencies): readonly Route[] {
  const { catalogue, tables, clock } = dependencies;
  return [
    route({
      method: "POST",
      path: "/api/segment/preview",
      scopes: ["admin"],
      docs: {
        id: "previewRule",
        tag: "catalogue",
        summary: "Preview a rule",
        description:
          "Use it to see how many people a rule matches before it is saved. The service looks at 2,000 profiles at random, or at all if there are not more, and stores nothing. For a segment in the rule, the stored members count. Errors: 400 `required`, `unknown_table`, `unknown_segment` if `id` is not a segment by rule of the table, and the codes of a rule in `PUT /api/segment/{id}`; 429 `too_many_requests` while several previews wait.",
      },
      body: {
        schema: PreviewInput,
        limitsNesting: true,
        examples: { rule: { table: "user", rule: { attribute: "plan", is: "pro" } } },
      },
      responses: { 200: success("RulePreviewAnswer", Preview) },
      async handler({ ctx, body: { table: tableName, rule: json, id } }) {
        const { name: table, identities } = checkedTable(tableName, tables);
        const segment = { id: id ?? NO_SEGMENT, table, rule: parseRule(json, identities) };
        const rules = await catalogue.rules();
        if (id !== undefined && !rules.segments.some((known) => known.id === id && known.table === table)) {
          throw invalid("unknown_segment", "id", "There is no such segment by rule of this table");
        }
        const names = await checkRule(catalogue, segment, rules);
        const computing = computingSegments(rules.segments);
        const { joining, leaving, ...preview } = await previewRule(dependencies, segment, clock(), ctx.state.memory);
        return {
          data: {
            ...preview,
            computing: names.some((name) => computing.has(name)),
            ...(id === undefined ? {} : { joining, leaving }),
          },
        };
      },
    }),
  ];
}
