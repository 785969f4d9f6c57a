import type { ComponentChildren, VNode } from "preact";
import type { Address } from "../address.js";
import type { Page } from "../view.js";

interface LinkProps {
  readonly to: Partial<Address>;
  readonly page: Pick<Page, "go" | "link">;
  /** Whether the link leads to the page that is shown. */
  readonly isCurrent?: boolean;
  readonly children: ComponentChildren;
}

/** A link to another state of this page. With Ctrl, Shift or ⌘ the browser opens it as any other link. */
export function Link({ to, page, isCurrent = false, children }: LinkProps): VNode {
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    page.go(to);
  };
  return (
    <a href={page.link(to)} onClick={open} aria-current={isCurrent ? "page" : undefined}>
      {children}
    </a>
  );
}
