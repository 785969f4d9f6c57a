import type { ComponentChildren, VNode } from "preact";

interface CardProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

/** A part of a view, with a heading. */
export function Card({ title, children }: CardProps): VNode {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children}
    </section>
  );
}
