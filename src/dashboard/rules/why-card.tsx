import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ExplainedMembership, Segment } from "../../client/client.js";
import { unlessNotFound } from "../optional.js";
import { Card } from "../page/card.js";
import { readTables, type Tables } from "../tables.js";
import type { Page } from "../view.js";
import { firstIdentity, IdentityForm } from "../views/identity-form.js";
import { useTask } from "../views/use-task.js";
import { Why } from "./why.js";

interface WhyCardProps {
  /** A segment by rule. */
  readonly segment: Segment;
  readonly page: Page;
}

/** Looks a person up, and shows why the person is in the segment or is not. */
export function WhyCard({ segment: { id, name, table }, page }: WhyCardProps): VNode {
  const all: Tables = readTables(page.key.by);
  const tables: Tables = { [table]: all[table] ?? [] };
  const [identity, setIdentity] = useState(() => firstIdentity(tables));
  const [explained, setExplained] = useState<ExplainedMembership | "none">();
  const { run, isRunning, problem } = useTask();
  const lookUp = () =>
    run(async (signal) => {
      const { field, value } = identity;
      const found = await unlessNotFound(page.client.explainSegments(table, field, value, { id, signal }));
      setExplained(found?.[0] ?? "none");
    });
  return (
    <Card
      title="Why, or why not"
      note={typeof explained === "object" ? <bdi>{`${identity.field} ${identity.value}`}</bdi> : undefined}
    >
      <IdentityForm
        tables={tables}
        identity={identity}
        onChange={(changed) => {
          setIdentity(changed);
          setExplained(undefined);
        }}
        onSubmit={lookUp}
        hasFocus
      >
        <button type="submit" class="primary" disabled={isRunning}>
          Look up
        </button>
      </IdentityForm>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {explained === "none" && <p role="status">No profile has this identity.</p>}
      {typeof explained === "object" && (
        <div role="status">
          <p>
            {explained.member ? "This person is in " : "This person is not in "}
            <bdi>
              <b>{name}</b>
            </bdi>
            .
          </p>
          <Why explained={explained} page={page} />
        </div>
      )}
    </Card>
  );
}
