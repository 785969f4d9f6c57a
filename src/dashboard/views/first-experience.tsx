import type { VNode } from "preact";
import { Code } from "../page/code.js";

/** Explains how to create the first experience. */
export function FirstExperience(): VNode {
  const address = new URL(".", location.href).href;
  return (
    <section class="card">
      <h1>Experiences</h1>
      <p>
        There is no experience yet. An experience names two segments: its audience, and its goal. A key with the scope{" "}
        <code>admin</code> makes one:
      </p>
      <Code
        text={`curl -X PUT ${address}api/experience/welcome -H "Authorization: $KEY" -H 'Content-Type: application/json' -d '{"audience":"newsletter","goal":"buyers"}'`}
      />
    </section>
  );
}
