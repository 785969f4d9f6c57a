import type { VNode } from "preact";
import { Code } from "./code.js";

/** Three steps for a service that contains nothing yet. The page shows the first data by itself. */
export function FirstSteps({ title }: { readonly title: string }): VNode {
  const address = new URL(".", location.href).href;
  const call = (path: string, body: string) =>
    `curl -X POST ${address}${path} -H "Authorization: $KEY" -H 'Content-Type: application/json' -d '${body}'`;
  return (
    <section class="card">
      <h1>{title}</h1>
      <p>The service contains nothing yet.</p>
      <ol>
        <li>
          Paste this into a shell, then a key with the scopes <code>entity:write</code> and <code>metric:write</code>:
          <Code text="printf 'API key: '; read -r KEY" />
        </li>
        <li>
          Send a message:
          <Code text={call("collect/json/web", '{"_uid":"u-1","segments":["newsletter"]}')} />
        </li>
        <li>
          Write a point:
          <Code
            text={call(
              "api/metric/points",
              `[{"dimension":"segment","dimension_id":"newsletter","dimension_type":"size","value":42,"ts":'$(date +%s000)'}]`,
            )}
          />
        </li>
      </ol>
      <p class="note">This page looks for the first data every few seconds.</p>
    </section>
  );
}
