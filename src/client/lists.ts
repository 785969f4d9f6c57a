import type { Static } from "@sinclair/typebox";
import type * as catalogue from "../http/catalogue/schemas.js";
import type { ListedDeletion } from "../http/deletions/list.js";
import type { MembersInput as MembersInputSchema } from "../http/entities/members.js";
import type { ListedSeries, Stream } from "../http/metrics/listings.js";

/** Row types by list. */
export interface ListRows {
  readonly segment: Static<typeof catalogue.ListedSegment>;
  readonly experience: Static<typeof catalogue.ListedExperience>;
  readonly series: Static<typeof ListedSeries>;
  readonly stream: Static<typeof Stream>;
  readonly deletion: Static<typeof ListedDeletion>;
}

/** One page of a list. `next` is the `after` of the following page, `total` the number of rows on all pages. */
export interface ListPage<Row> {
  readonly data: readonly Row[];
  readonly meta: { readonly next: string | null; readonly total: number };
}

/** Selection of a segment's members and attributes. */
export type MembersInput = Static<typeof MembersInputSchema>;

/** A member of a segment, or the end of the list. */
export type MemberLine =
  | {
      readonly identities: Readonly<Record<string, readonly string[]>>;
      /** Only with `fields`. */
      readonly attributes?: Readonly<Record<string, unknown>>;
      readonly since: string;
    }
  | { readonly type: "end"; readonly members: number; readonly next: string | null };
