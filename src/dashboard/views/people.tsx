import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { EntityAnswer, ExplainedMembership } from "../../client/client.js";
import { takeOpened } from "../opened.js";
import { type Optional, optional, unlessNotFound } from "../optional.js";
import { readTables, type Tables } from "../tables.js";
import type { Loaded, Page } from "../view.js";
import { DeletionFlow } from "./deletion-flow.js";
import { DeletionProgress } from "./deletion-progress.js";
import { firstIdentity, IdentityForm, type TypedIdentity } from "./identity-form.js";
import { Profile } from "./profile.js";
import { Timeline } from "./timeline.js";
import { useTask } from "./use-task.js";

/** Pause between two checks of the key, ms. */
const CHECK_MS = 30_000;

interface Data {
  readonly tables: Tables;
}

/** A profile that was looked up, with the identity by which it was found. */
interface Found {
  readonly identity: TypedIdentity;
  readonly entity: EntityAnswer;
  readonly memberships: Optional<readonly ExplainedMembership[]>;
}

/** A refresh only checks the key, so that a profile does not stay on the screen once the key is revoked. */
export async function load({ client, key, isRefresh, now, signal }: Page): Promise<Loaded<Data>> {
  if (isRefresh) await client.key({ signal });
  return { data: { tables: readTables(key.by) }, nextAt: now + CHECK_MS };
}

/**
 * Looks a person up; export and deletion follow on the same page. The progress of a deletion replaces the profile. The
 * identity never gets into the address, the history or a storage.
 */
export function Show({ data: { tables }, page }: { readonly data: Data; readonly page: Page }): VNode {
  const [opened] = useState(() => takeOpened("person"));
  const [identity, setIdentity] = useState<TypedIdentity>(() => opened ?? firstIdentity(tables));
  const [found, setFound] = useState<Found | "none">();
  const [next, setNext] = useState<"export" | "delete">();
  const [requestId, setRequestId] = useState<string>();
  const { run, isRunning, problem } = useTask();
  const change = (changed: TypedIdentity) => {
    setIdentity(changed);
    setFound(undefined);
    setNext(undefined);
    setRequestId(undefined);
  };
  const lookUp = () =>
    run(async (signal) => {
      const { table, field, value } = identity;
      setNext(undefined);
      setRequestId(undefined);
      const both = await unlessNotFound(
        Promise.all([
          page.client.entity(table, field, value, {}, { signal }),
          optional(page.client.explainSegments(table, field, value, { signal })),
        ]),
      );
      if (both === undefined) return setFound("none");
      const [entity, memberships] = both;
      setFound({ identity, entity, memberships });
    });
  useEffect(() => {
    if (opened !== undefined) lookUp();
  }, []);
  return (
    <>
      <section class="card">
        <h1>People</h1>
        <p class="note">What is stored about a person, found by any identity, and why in which segments.</p>
        <IdentityForm tables={tables} identity={identity} onChange={change} onSubmit={lookUp}>
          <button type="submit" class="primary" disabled={isRunning}>
            Look up
          </button>
        </IdentityForm>
        {problem !== undefined && <p role="alert">{problem}</p>}
        {found === "none" && <p role="status">No profile has this identity.</p>}
      </section>
      {requestId !== undefined && <DeletionProgress requestId={requestId} page={page} />}
      {requestId === undefined && found !== undefined && found !== "none" && (
        <>
          <Profile
            title={found.identity.value}
            entity={found.entity}
            memberships={found.memberships}
            page={page}
            actions={
              <div class="controls">
                <NeedsScope scope="entity:export" page={page} label="Export" onClick={() => setNext("export")} />
                <NeedsScope
                  scope="entity:delete"
                  page={page}
                  label="Delete"
                  onClick={() => setNext("delete")}
                  isDanger
                />
              </div>
            }
          />
          {next === "export" && <Timeline identity={found.identity} page={page} />}
          {next === "delete" && <DeletionFlow identity={found.identity} page={page} onRequested={setRequestId} />}
        </>
      )}
    </>
  );
}

interface NeedsScopeProps {
  readonly scope: string;
  readonly page: Page;
  readonly label: string;
  readonly onClick: () => void;
  readonly isDanger?: boolean;
}

/** A button; if the key lacks the scope, it is disabled and the scope is named next to it. */
function NeedsScope({ scope, page, label, onClick, isDanger = false }: NeedsScopeProps): VNode {
  const isAllowed = page.scopes.has(scope);
  return (
    <span>
      <button type="button" class={isDanger ? "danger" : undefined} disabled={!isAllowed} onClick={onClick}>
        {label}
      </button>
      {!isAllowed && <span class="note"> needs {scope}</span>}
    </span>
  );
}
