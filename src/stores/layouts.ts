import { StartError } from "../errors.js";

/** The layout of version 1.0.0, from which each engine has steps to the newest one. Older ones were never released. */
export const FIRST_LAYOUT = 3;

/** Returns the number of the layout that the last step leads to. */
export function newestLayout(steps: readonly unknown[] = []): number {
  return FIRST_LAYOUT + steps.length;
}

/** Throws a `StartError` if no step leads from this layout of a file or database to the newest one. */
export function refuseUnknownLayout(name: string, layout: number, newest: number): void {
  if (layout > newest) {
    throw new StartError(
      `${name} has layout ${layout}, and this version of entity-metrics reads layouts up to ${newest}: start the newer version that wrote it, or read "Going back" in docs/upgrading.md`,
    );
  }
  if (layout >= FIRST_LAYOUT) return;
  throw new StartError(
    `${name} has layout ${layout}, from before version 1.0.0, and this version of entity-metrics reads layouts from ${FIRST_LAYOUT}: start the version that wrote it, or name an empty folder or database`,
  );
}

/** Refuses a layout other than the newest: an older service may be using the file, so a command does not upgrade it. */
export function refuseOtherLayout(name: string, layout: number, newest: number): void {
  refuseUnknownLayout(name, layout, newest);
  if (layout === newest) return;
  throw new StartError(
    `${name} has layout ${layout}, and this command uses layout ${newest}: start the service of this version, which upgrades it, or use the command of the version that runs`,
  );
}
