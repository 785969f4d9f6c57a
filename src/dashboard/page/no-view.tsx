import type { VNode } from "preact";
import { Code } from "./code.js";
import type { AppProps, State } from "./controller.js";
import { KeyCard } from "./key-card.js";

/** Replaces a view: the field for a key, or why the key may not see the view. */
export function NoView({ state, controller }: AppProps): VNode {
  if (state.phase !== "forbidden") return <KeyCard reason={state.reason} controller={controller} />;
  return <Forbidden state={state} />;
}

function Forbidden({ state: { view, reason } }: { readonly state: State }): VNode {
  return (
    <section class="card">
      <h1>{view.label} needs another key</h1>
      <p role="alert">{reason}</p>
      <p>In the folder of the service this makes one:</p>
      <Code text={`npx entity-metrics key create --scopes ${view.scopes[0]} --name dashboard`} />
    </section>
  );
}
