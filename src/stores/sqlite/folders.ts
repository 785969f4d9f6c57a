import { resolve } from "node:path";
import type { Settings } from "../../config.js";

/** Absolute folders of the embedded engine. */
export interface Folders {
  /** Where the pepper lies. */
  readonly data: string;
  /** Where `ledger.db` and `entities.db` lie. */
  readonly entities: string;
  /** Where `metrics.db` lies. */
  readonly metrics: string;
}

/** The folders that the settings name: `sqlite:/path` is that folder, `sqlite:` and what another engine keeps is `data_dir`. */
export function foldersOf(settings: Pick<Settings, "data_dir" | "entities" | "metrics">): Folders {
  const data = resolve(settings.data_dir);
  const folderOf = (url: string) => (/^sqlite:./.test(url) ? resolve(url.slice("sqlite:".length)) : data);
  return { data, entities: folderOf(settings.entities.url), metrics: folderOf(settings.metrics.url) };
}
