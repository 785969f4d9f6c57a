import type { VNode } from "preact";
import type { ListedSeries, ListPage } from "../../client/client.js";
import { count } from "../format.js";
import type { Entry } from "./entries.js";
import { type Column, Table } from "./table.js";

interface OnlyPointsProps {
  readonly title: string;
  readonly points: ListPage<ListedSeries>;
  readonly columns: readonly Column<Entry>[];
}

/** The first series that only have points, below the list of the catalogue. */
export function OnlyPoints({ title, points: { data, meta }, columns }: OnlyPointsProps): VNode {
  return (
    <>
      <h2>Only points</h2>
      <p class="note">
        {count(meta.total)} not in the catalogue
        {data.length < meta.total && `; the first ${count(data.length)} are shown`}
      </p>
      <Table
        class="list"
        caption={`${title} that only have points`}
        rows={data.map(pointsEntry)}
        rowKey={({ id }) => id}
        columns={columns}
      />
    </>
  );
}

/** Returns the entry of a series without a catalogue entry, which has no name. */
export const pointsEntry = ({ dimension_id: id }: ListedSeries): Entry => ({ id, name: id });
