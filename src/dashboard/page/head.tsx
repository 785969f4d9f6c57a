import type { ComponentChildren, VNode } from "preact";
import type { Address } from "../address.js";
import type { Page } from "../view.js";
import { Facts, type NamedValue } from "./facts.js";
import { Link } from "./link.js";

/** A value with what it counts and of which instant. */
export interface Figure {
  readonly value: ComponentChildren;
  readonly unit: ComponentChildren;
  /** Whether it is good, or needs a person; undefined if it is neither. */
  readonly isGood?: boolean | undefined;
}

interface HeadProps {
  readonly page: Page;
  /** The list that contains the thing; absent for a view of the bar. */
  readonly crumb?: { readonly label: string; readonly to: Partial<Address> };
  /** Links after the link to the list. */
  readonly path?: ComponentChildren;
  readonly title: string;
  /** Paragraphs below the name. */
  readonly note?: ComponentChildren;
  /** The largest figure of the page, and what it counts with its instant. */
  readonly figure?: Figure | undefined;
  /** Change of the figure. */
  readonly change?: ComponentChildren;
  readonly facts?: readonly NamedValue[];
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** The head of a page: its name, one large figure with its change, then small facts and its actions. */
export function Head(props: HeadProps): VNode {
  const { page, crumb, path, title, note, figure, change, facts = [], actions, children } = props;
  return (
    <section class="card head">
      {crumb !== undefined && (
        <p class="note">
          <Link to={crumb.to} page={page}>
            {crumb.label}
          </Link>
          {path}
        </p>
      )}
      <h1>
        <bdi>{title}</bdi>
      </h1>
      {note}
      <div class="largest">
        {figure !== undefined && (
          <p>
            <span class={valueStyle(figure)}>{figure.value}</span> <span class="note">{figure.unit}</span>
          </p>
        )}
        {change !== undefined && <p class="note">{change}</p>}
        <Facts facts={facts} />
        {actions}
      </div>
      {children}
    </section>
  );
}

export const valueStyle = ({ isGood }: Pick<Figure, "isGood">): string =>
  isGood === undefined ? "value" : isGood ? "value good" : "value bad";
