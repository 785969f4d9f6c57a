import type { VNode } from "preact";
import type { Experience } from "../../client/client.js";
import { type Fetched, fetchWithRecent, nextSaveOf } from "../fetch-series.js";
import { unlessNotFound } from "../optional.js";
import { Link } from "../page/link.js";
import type { Loaded, Page } from "../view.js";
import { ApiCall } from "./api-call.js";
import { Funnel, ReachCharts, wantedReach } from "./funnel.js";

interface Data {
  readonly experience: Experience | undefined;
  /** Newest values, whatever the range is. */
  readonly recent: Fetched;
  readonly fetched: Fetched;
}

const REFRESH_MS = 60_000;

/** One experience: its funnel now, three trends, its segments. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { client, address, now, signal } = page;
  const id = address.id as string;
  const experience = await unlessNotFound(client.experience(id, { signal }));
  const { recent, fetched, hasValues } = await fetchWithRecent(wantedReach("experience", id), page);
  const isKnown = experience !== undefined || hasValues;
  return {
    data: { experience, recent, fetched },
    nextAt: nextSaveOf(fetched.series) ?? now + REFRESH_MS,
    problems: isKnown ? [] : [`The service has no experience with the id “${id}”.`],
  };
}

export function Show({
  data: { experience, recent, fetched },
  page,
}: {
  readonly data: Data;
  readonly page: Page;
}): VNode {
  const id = page.address.id as string;
  return (
    <>
      <section class="card">
        <p class="note">
          <Link to={{ view: "experiences" }} page={page}>
            Experiences
          </Link>
          {experience?.group != null && (
            <>
              {" · "}
              <Link to={{ view: "group", id: experience.group }} page={page}>
                {experience.group}
              </Link>
            </>
          )}
        </p>
        <h1>{experience?.name ?? id}</h1>
        {experience === undefined ? (
          <p class="note">{id} is not in the catalogue</p>
        ) : (
          <p>
            <Link to={{ view: "segment", id: experience.audience }} page={page}>
              {experience.audience}
            </Link>
            {" → "}
            <Link to={{ view: "segment", id: experience.goal }} page={page}>
              {experience.goal}
            </Link>
          </p>
        )}
        <Funnel recent={recent} />
      </section>
      <ReachCharts fetched={fetched} page={page} />
      <ApiCall wanted={wantedReach("experience", id)} page={page} />
    </>
  );
}
