import { Type } from "@sinclair/typebox";
import type { Experience as CatalogueExperience, CatalogueStore } from "../../catalogue/ports.js";
import type { Clock } from "../../clock.js";
import { found, notFound, ServiceError } from "../../errors.js";
import { experience as experienceDimension } from "../../metrics/dimensions.js";
import type { NewestValues } from "../../metrics/query/newest-values.js";
import { exampleNames } from "../core/openapi.js";
import { errorEnvelope, success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { ListMeta, searchQuery } from "../lists/list-page.js";
import { trendPage, trendSorts, trendSortsText, windowQuery } from "../lists/trend-page.js";
import { Experience, ExperienceInput, idIn, ListedExperience, newIdIn, Removed } from "./schemas.js";

const { experience: exampleId, group, audience, goal } = exampleNames;

const newExperienceId = newIdIn(exampleId);
const experienceAnswer = success("ExperienceAnswer", Experience);

export interface ExperienceRouteDependencies {
  readonly catalogue: CatalogueStore;
  readonly newest: NewestValues;
  readonly clock: Clock;
}

/** Routes of the catalogue's experiences. */
export function experienceRoutes({ catalogue, newest, clock }: ExperienceRouteDependencies): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/experience",
      scopes: ["metric:read"],
      docs: {
        id: "listExperiences",
        tag: "catalogue",
        summary: "List experiences",
        description:
          "Use it to list, search and rank experiences. With `range`, each row also has the newest conversion rate and the one a range earlier, with `startdate` and `enddate` those at the end and the start of the window; null without a rate in the window or in the 4 weeks before its end. Errors 400: `invalid_range`, `invalid_date`, `range_with_date`, `end_before_start`, `range_required`, `unknown_sort`, `too_many_entries`; with another `sort` than `id` also `invalid_after`.",
      },
      query: {
        ...searchQuery(trendSorts, trendSortsText),
        ...windowQuery,
      },
      responses: { 200: success("ExperiencesAnswer", Type.Array(ListedExperience), { meta: ListMeta }) },
      async handler({ query }) {
        const at = clock();
        return trendPage(query, {
          page: catalogue.experiences,
          count: catalogue.countExperiences,
          find: async (id) => (await catalogue.experiencesById([id])).get(id),
          trends: (some, requested) =>
            newest(
              { dimension: experienceDimension, type: "conversionrate", ids: some.map(({ id }) => id) },
              requested,
              at,
            ),
          rows: async (some) => some.map(toWire),
        });
      },
    }),
    route({
      method: "GET",
      path: "/api/experience/:id",
      scopes: ["metric:read"],
      docs: {
        id: "readExperience",
        tag: "catalogue",
        summary: "Read an experience",
        description: "Use it to look up the segments of an experience. Error 404: `not_found`.",
      },
      params: { id: idIn(exampleId) },
      responses: { 200: experienceAnswer },
      async handler({ params: { id } }) {
        return { data: toWire(found((await catalogue.experiencesById([id])).get(id), "experience")) };
      },
    }),
    route({
      method: "PUT",
      path: "/api/experience/:id",
      scopes: ["admin"],
      docs: {
        id: "putExperience",
        tag: "catalogue",
        summary: "Create or replace an experience",
        description:
          "Use it to define an experience over two segments of the catalogue. Errors 400: `invalid_id`, `required`, `unknown_segment`.",
      },
      params: { id: newExperienceId },
      body: {
        schema: ExperienceInput,
        examples: { experience: { name: "Offer (example)", group, audience, goal } },
      },
      responses: { 200: experienceAnswer, 409: errorEnvelope, 422: errorEnvelope },
      async handler({ params: { id }, body }) {
        const experience = { id, name: id, ...body };
        const { missing } = await catalogue.putExperience(experience);
        if (missing.length > 0) throw unknownSegments(missing);
        return { data: toWire(experience) };
      },
    }),
    route({
      method: "DELETE",
      path: "/api/experience/:id",
      scopes: ["admin"],
      docs: {
        id: "deleteExperience",
        tag: "catalogue",
        summary: "Delete an experience",
        description: "Use it to remove an experience from the catalogue; its series stay. Error 404: `not_found`.",
      },
      params: { id: idIn(exampleId) },
      responses: { 200: success("RemovedAnswer", Removed) },
      async handler({ params: { id } }) {
        if (!(await catalogue.deleteExperience(id))) throw notFound("experience");
        return { data: { id } };
      },
    }),
  ];
}

function toWire({ id, name, group, audience, goal }: CatalogueExperience) {
  return { id, name, group: group ?? null, audience, goal };
}

function unknownSegments(paths: readonly string[]): ServiceError {
  const message = "There is no such segment in the catalogue";
  return new ServiceError("invalid", message, {
    issues: paths.map((path) => ({ code: "unknown_segment", path, message })),
  });
}
