import { Fragment, type VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { KeyInfo } from "../../client/client.js";
import { fullTime, type Zone } from "../format.js";
import type { AppProps } from "./controller.js";
import { KeyForm } from "./key-card.js";

/** Name, scopes and bounds of the key, and ways to change or forget it. Escape closes it. */
export function KeyPanel({ state: { key, zone }, controller }: AppProps): VNode {
  const [isChanging, setChanging] = useState(false);
  const close = () => controller.openKeyPanel(false);
  // Listens before the panel is painted, so that Escape works as soon as it is visible.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") close();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  return (
    <section class="card panel" aria-label="Key">
      <h2>Key</h2>
      {key === undefined ? (
        <p>This tab has no key that the service accepts.</p>
      ) : (
        <dl>
          <dt>Name</dt>
          <dd>{key.name || key.id}</dd>
          <dt>Scopes</dt>
          <dd>{key.scopes.join(", ")}</dd>
          {boundsOf(key, zone).map(([term, value]) => (
            <Fragment key={term}>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
        </dl>
      )}
      {isChanging && <KeyForm controller={controller} />}
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
    </section>
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
