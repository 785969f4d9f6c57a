import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Segment } from "../../client/client.js";
import type { Rule } from "../../segments/rule.js";
import { age } from "../duration.js";
import { count } from "../format.js";
import { Card } from "../page/card.js";
import { Later } from "../page/later.js";
import type { Page } from "../view.js";
import { usePoll } from "../views/use-poll.js";
import { RuleTree } from "./rule-tree.js";
import type { SegmentNames } from "./rule-words.js";

/** Pause between two reads of the progress, ms. */
const PROGRESS_MS = 3_000;

const builder = async () => (await import("./builder.js")).Builder;
const whyCard = async () => (await import("./why-card.js")).WhyCard;

interface SegmentRuleProps {
  /** A segment by rule. */
  readonly segment: Segment;
  /** Names of the segments in the rule. */
  readonly names: SegmentNames;
  readonly page: Page;
}

/** The rule of a segment, for a key with `admin`, its progress, and on request why a person is in it or not. */
export function SegmentRule({ segment, names, page }: SegmentRuleProps): VNode {
  const [isEdited, setEdited] = useState<boolean>();
  const [isAsked, setAsked] = useState(false);
  const edit = useRef<HTMLButtonElement>(null);
  // The focus returns to the button when the builder is closed.
  useEffect(() => {
    if (isEdited === false) edit.current?.focus();
  }, [isEdited]);
  if (isEdited) return <Later script={builder} props={{ segment, page, close: () => setEdited(false) }} />;
  return (
    <div class="halves">
      <Card
        title="Rule"
        note="decided with every message, and by time"
        actions={
          <div class="controls">
            {page.scopes.has("entity:read") && (
              <button type="button" aria-expanded={isAsked} onClick={() => setAsked(!isAsked)}>
                Why, or why not
              </button>
            )}
            {segment.rule !== undefined && (
              <button ref={edit} type="button" onClick={() => setEdited(true)}>
                Edit
              </button>
            )}
          </div>
        }
      >
        <ShownRule segment={segment} names={names} />
        {segment.computing !== null && <Progress segment={segment} page={page} />}
      </Card>
      {isAsked && <Later script={whyCard} props={{ segment, page }} />}
    </div>
  );
}

function ShownRule({ segment, names }: Omit<SegmentRuleProps, "page">): VNode {
  if (segment.rule === undefined)
    return (
      <p>
        A rule decides who is in this segment. To see it, a key needs the scope <code>admin</code>.
      </p>
    );
  return <RuleTree node={segment.rule as unknown as Rule} names={names} />;
}

/** The progress after a change of the rule, and about how long it still takes. */
function Progress({ segment, page }: Omit<SegmentRuleProps, "names">): VNode | null {
  const [computing, setComputing] = useState(segment.computing);
  const { id } = segment;
  useEffect(() => setComputing(segment.computing), [segment]);
  usePoll({
    key: id,
    firstMs: PROGRESS_MS,
    everyMs: PROGRESS_MS,
    async poll(signal) {
      const next = (await page.client.segment(id, { signal })).computing;
      if (next === null) page.reload();
      else setComputing(next);
      return next !== null;
    },
  });
  if (computing === null) return null;
  const { done, of, since } = computing;
  const remaining = done === 0 ? undefined : ((Date.now() - Date.parse(since)) * (of - done)) / done;
  return (
    <p class="computing">
      Computing: {count(done)} of {count(of)}
      <progress aria-label="Computing" value={done} max={Math.max(1, of)} />
      {remaining !== undefined && <span class="note">about {age(remaining)} left</span>}
    </p>
  );
}
