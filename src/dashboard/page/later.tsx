import type { ComponentType, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Loads the script of a component. */
export type Script<P> = () => Promise<ComponentType<P>>;

/** A component whose script is loaded when it is first shown. */
export function Later<P extends object>({
  script,
  props,
}: {
  readonly script: Script<P>;
  readonly props: P;
}): VNode | null {
  const [Shown, show] = useState<ComponentType<P>>();
  useEffect(() => void script().then((component) => show(() => component)), [script]);
  return Shown === undefined ? null : <Shown {...props} />;
}
