import type { ComponentChildren, VNode } from "preact";

interface FactProps {
  readonly name: string;
  readonly children: ComponentChildren;
}

/** A named value; a list of class `facts` contains them. */
export function Fact({ name, children }: FactProps): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
