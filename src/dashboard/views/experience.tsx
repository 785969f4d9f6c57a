import type { VNode } from "preact";
import type { ListedExperience } from "../../client/client.js";
import { type Fetched, fetchWithRecent, nextSaveOf } from "../fetch-series.js";
import { changeOf, sampledWindow } from "../figures.js";
import { unlessNotFound } from "../optional.js";
import { Link } from "../page/link.js";
import { rangeOf } from "../range.js";
import type { Loaded, Page } from "../view.js";
import { ApiCall } from "./api-call.js";
import { Funnel, ReachCharts, wantedReach } from "./funnel.js";
import { hasPoints } from "./has-points.js";

interface Data {
  readonly experience: ListedExperience | undefined;
  /** Names of its segments by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Newest values, whatever the range is. */
  readonly recent: Fetched;
  readonly fetched: Fetched;
}

const REFRESH_MS = 60_000;

/** One experience: its funnel now, three trends, its segments. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { client, address, now, signal } = page;
  const id = address.id as string;
  const listed = await client.page("experience", { id, ...sampledWindow("experience", page) }, { signal });
  const experience = listed.data[0];
  const { recent, fetched } = await fetchWithRecent(wantedReach("experience", id), page);
  const ids = experience === undefined ? [] : [experience.audience, experience.goal];
  const segments = await Promise.all(ids.map((one) => unlessNotFound(client.segment(one, { signal }))));
  const names = new Map(segments.flatMap((segment) => (segment === undefined ? [] : [[segment.id, segment.name]])));
  const isKnown = experience !== undefined || (await hasPoints(page, "experience", id));
  return {
    data: { experience, names, recent, fetched },
    title: experience?.name,
    nextAt: nextSaveOf(fetched.series) ?? now + REFRESH_MS,
    problems: isKnown ? [] : [`The service has no experience with the id “${id}”.`],
  };
}

export function Show({
  data: { experience, names, recent, fetched },
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
              {names.get(experience.audience) ?? experience.audience}
            </Link>
            {" → "}
            <Link to={{ view: "segment", id: experience.goal }} page={page}>
              {names.get(experience.goal) ?? experience.goal}
            </Link>
          </p>
        )}
        <Funnel
          recent={recent}
          {...(experience === undefined
            ? {}
            : { change: { range: rangeOf(page.address), text: changeOf(experience, "rate", page.zone) } })}
        />
      </section>
      <ReachCharts fetched={fetched} page={page} />
      <ApiCall wanted={wantedReach("experience", id)} page={page} />
    </>
  );
}
