import type { VNode } from "preact";
import type { Experience } from "../../client/client.js";
import { Card } from "../page/card.js";
import { Link } from "../page/link.js";
import type { Page } from "../view.js";

interface ExperienceLinksProps {
  readonly title: string;
  readonly experiences: readonly Experience[];
  /** Returns what the thing of the page is to an experience. */
  readonly role?: (experience: Experience) => string;
  readonly page: Page;
}

/** Links to experiences. */
export function ExperienceLinks({ title, experiences, role, page }: ExperienceLinksProps): VNode {
  return (
    <Card title={title}>
      {experiences.length === 0 ? (
        <p class="note">None.</p>
      ) : (
        <ul>
          {experiences.map((experience) => (
            <li key={experience.id}>
              <Link to={{ view: "experience", id: experience.id }} page={page}>
                <bdi>{experience.name}</bdi>
              </Link>
              {role !== undefined && <span class="note"> as {role(experience)}</span>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
