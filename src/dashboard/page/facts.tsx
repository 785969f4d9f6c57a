import type { ComponentChildren, VNode } from "preact";

/** A value with its name. */
export type NamedValue = readonly [name: string, value: ComponentChildren];

/** Named values in a row. */
export function Facts({ facts }: { readonly facts: readonly NamedValue[] }): VNode {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
