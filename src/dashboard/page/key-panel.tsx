import type { VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { AppProps } from "./controller.js";
import { KeyForm } from "./key-card.js";

/** Name and scopes of the key, and ways to change or forget it. Escape closes it. */
export function KeyPanel({ state: { key }, controller }: AppProps): VNode {
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
