import { Type } from "@sinclair/typebox";
import type { Experience as CatalogueExperience, CatalogueStore } from "../../catalogue/ports.js";
import { found, ServiceError } from "../../errors.js";
import { exampleNames } from "../openapi.js";
import { errorEnvelope, fetchPage, listQuery, PageMeta, success } from "../responses.js";
import { type Route, route } from "../route.js";
import { Experience, ExperienceInput, idIn, newIdIn, Removed } from "./schemas.js";

const { experience: exampleId, group, audience, goal } = exampleNames;

const newExperienceId = newIdIn(exampleId);
const experienceAnswer = success("ExperienceAnswer", Experience);

/** The experiences of the catalogue. */
export function experienceRoutes(catalogue: CatalogueStore): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/experience",
      scopes: ["metric:read"],
      docs: { id: "listExperiences", tag: "catalogue", summary: "Experiences", description: "In order of id." },
      query: listQuery,
      responses: { 200: success("ExperiencesAnswer", Type.Array(Experience), { meta: PageMeta }) },
      async handler({ query }) {
        const { items, meta } = await fetchPage(query, (after, limit) => catalogue.experiences(after, limit));
        return { data: items.map(toWire), meta };
      },
    }),
    route({
      method: "GET",
      path: "/api/experience/:id",
      scopes: ["metric:read"],
      docs: { id: "readExperience", tag: "catalogue", summary: "An experience" },
      params: { id: idIn(exampleId) },
      responses: { 200: experienceAnswer },
      async handler({ params: { id } }) {
        return { data: toWire(found(await catalogue.experience(id))) };
      },
    }),
    route({
      method: "PUT",
      path: "/api/experience/:id",
      scopes: ["admin"],
      docs: { id: "putExperience", tag: "catalogue", summary: "Make or change an experience" },
      params: { id: newExperienceId },
      body: {
        schema: ExperienceInput,
        examples: () => ({ experience: { name: "Offer (example)", group, audience, goal } }),
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
      docs: { id: "deleteExperience", tag: "catalogue", summary: "Remove an experience" },
      params: { id: idIn(exampleId) },
      responses: { 200: success("RemovedAnswer", Removed) },
      async handler({ params: { id } }) {
        if (!(await catalogue.deleteExperience(id))) throw new ServiceError("not-found", "Not Found");
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
