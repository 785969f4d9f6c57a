import type { ComponentChildren, VNode } from "preact";

interface CardProps {
  readonly title: string;
  /** Explains the title. */
  readonly note?: ComponentChildren;
  /** Buttons at the end of the title's line. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a view, with a heading. */
export function Card({ title, note, actions, children }: CardProps): VNode {
  return (
    <section class="card">
      <div class="title">
        <h2>{title}</h2>
        {note !== undefined && <p class="note">{note}</p>}
        {actions}
      </div>
      {children}
    </section>
  );
}
