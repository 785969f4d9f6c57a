import type { VNode } from "preact";
import type { View } from "../view.js";
import { Code } from "./code.js";

interface ForbiddenProps {
  readonly view: View;
  readonly reason: string | undefined;
}

/** The reason why the key may not see a view, and a command that makes one that may. */
export function Forbidden({ view, reason }: ForbiddenProps): VNode {
  return (
    <section class="card">
      <h1>{view.label} needs another key</h1>
      <p role="alert">{reason}</p>
      <p>In the folder of the service this makes one:</p>
      <Code text={`npx entity-metrics key create --scopes ${view.scopes[0]} --name dashboard`} />
    </section>
  );
}
