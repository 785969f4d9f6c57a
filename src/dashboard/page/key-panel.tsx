import { Fragment, type VNode } from "preact";
import { useState } from "preact/hooks";
import type { KeyInfo } from "../../client/client.js";
import { fullTime, type Zone } from "../format.js";
import type { Controller } from "./controller.js";
import { KeyForm } from "./key-card.js";

interface KeyPanelProps {
  /** Undefined until the service has described the key. */
  readonly keyInfo: KeyInfo | undefined;
  readonly zone: Zone;
  readonly controller: Controller;
  readonly close: () => void;
}

/** Name, scopes and bounds of the key, and ways to change or forget it. */
export function KeyPanel({ keyInfo, zone, controller, close }: KeyPanelProps): VNode {
  const [isChanging, setChanging] = useState(false);
  return (
    <>
      <h2>Key</h2>
      {keyInfo !== undefined && (
        <dl>
          <dt>Name</dt>
          <dd>{keyInfo.name || keyInfo.id}</dd>
          <dt>Scopes</dt>
          <dd>{keyInfo.scopes.join(", ")}</dd>
          {boundsOf(keyInfo, zone).map(([term, value]) => (
            <Fragment key={term}>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
        </dl>
      )}
      {isChanging && (
        <KeyForm
          onKey={(key) => {
            close();
            controller.useKey(key);
          }}
        />
      )}
      <p class="controls">
        <button type="button" onClick={() => setChanging(true)}>
          Change
        </button>
        <button type="button" onClick={controller.forgetKey}>
          Forget it
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </p>
    </>
  );
}

/** Returns the bounds that the key has, each with its term. */
function boundsOf(
  { stream, fields, by, origins, rate, expires_at }: KeyInfo,
  zone: Zone,
): [term: string, value: string][] {
  const bounds: [string, string | undefined][] = [
    ["Writes to stream", stream],
    ["Reads attributes", fields?.join(", ")],
    ["Reads by", by],
    ["Origins", origins?.join(", ")],
    ["Requests per minute", rate?.toString()],
    ["Expires", expires_at && fullTime(Date.parse(expires_at), zone)],
  ];
  return bounds.filter((bound): bound is [string, string] => bound[1] !== undefined);
}
