import type { Static } from "@sinclair/typebox";
import type * as catalogue from "../http/catalogue/schemas.js";
import type { ListedDeletion } from "../http/deletions/list.js";
import type { MembersInput as MembersInputSchema } from "../http/entities/members.js";
import type { ListedSeries, Stream } from "../http/metrics/listings.js";

/** The rows of each list. */
export interface ListRows {
  readonly segment: Static<typeof catalogue.ListedSegment>;
  readonly experience: Static<typeof catalogue.ListedExperience>;
  readonly series: Static<typeof ListedSeries>;
  readonly stream: Static<typeof Stream>;
  readonly deletion: Static<typeof ListedDeletion>;
}

/** One page of a list: `next` is the `after` of the page that follows, `total` how many rows there are on all pages. */
export interface ListPage<Row> {
  readonly data: readonly Row[];
  readonly meta: { readonly next: string | null; readonly total: number };
}

/** Which members of a segment are listed, and with which attributes. */
export type MembersInput = Static<typeof MembersInputSchema>;

/** A member of a segment, or the end of the list. */
export type MemberLine =
  | {
      readonly identities: Readonly<Record<string, readonly string[]>>;
      /** With `fields` alone. */
      readonly attributes?: Readonly<Record<string, unknown>>;
      readonly since: string;
    }
  | { readonly type: "end"; readonly members: number; readonly next: string | null };
