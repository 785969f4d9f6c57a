import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Experience } from "../../client/client.js";
import { count } from "../format.js";
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

/** Number of links before the button that shows all. */
const FEW = 10;

/** Links to experiences: a few, or on request all. */
export function ExperienceLinks({ title, experiences, role, page }: ExperienceLinksProps): VNode {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && experiences.length > FEW;
  return (
    <Card title={title}>
      <ul class="links">
        {(isCut ? experiences.slice(0, FEW) : experiences).map((experience) => (
          <li key={experience.id}>
            <Link to={{ view: "experience", id: experience.id }} page={page}>
              <bdi>{experience.name}</bdi>
            </Link>
            {role !== undefined && <span class="note"> as {role(experience)}</span>}
          </li>
        ))}
      </ul>
      {isCut && (
        <button type="button" onClick={() => setWhole(true)}>
          All {count(experiences.length)}
        </button>
      )}
    </Card>
  );
}
