import type { VNode } from "preact";
import type { Experience } from "../../client/client.js";
import { type Fetched, fetchWithRecent, nextSaveOf } from "../fetch-series.js";
import { Card } from "../page/card.js";
import { Link } from "../page/link.js";
import type { Loaded, Page } from "../view.js";
import { ApiCall } from "./api-call.js";
import { findExperiences } from "./find-experiences.js";
import { Funnel, ReachCharts, wantedReach } from "./funnel.js";
import { hasPoints } from "./has-points.js";

interface Data {
  readonly experiences: readonly Experience[];
  readonly recent: Fetched;
  readonly fetched: Fetched;
}

const REFRESH_MS = 60_000;

/** One group: the sums over its experiences, and the experiences. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { address, now } = page;
  const id = address.id as string;
  const experiences = await findExperiences(page, ({ group }) => group === id);
  const { recent, fetched } = await fetchWithRecent(wantedReach("experiencegroup", id), page);
  const isKnown = experiences.length > 0 || (await hasPoints(page, "experiencegroup", id));
  return {
    data: { experiences, recent, fetched },
    nextAt: nextSaveOf(fetched.series) ?? now + REFRESH_MS,
    problems: isKnown ? [] : [`The service has no experience in a group with the id “${id}”.`],
  };
}

export function Show({
  data: { experiences, recent, fetched },
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
        </p>
        <h1>{id}</h1>
        <Funnel recent={recent} />
      </section>
      <ReachCharts fetched={fetched} page={page} />
      <Card title="Experiences of this group">
        {experiences.length === 0 && <p class="note">None.</p>}
        <ul>
          {experiences.map((one) => (
            <li key={one.id}>
              <Link to={{ view: "experience", id: one.id }} page={page}>
                {one.name}
              </Link>
            </li>
          ))}
        </ul>
      </Card>
      <ApiCall wanted={wantedReach("experiencegroup", id)} page={page} />
    </>
  );
}
