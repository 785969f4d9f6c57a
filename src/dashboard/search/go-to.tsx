import type { VNode } from "preact";
import type { Address } from "../address.js";
import { open } from "../opened.js";
import { Dialog } from "../page/dialog.js";
import { type Visited, visited } from "../page/visited.js";
import type { Page } from "../view.js";
import { segmentsWithPoints } from "../views/segments-with-points.js";
import { views } from "../views.js";
import { Combobox, type Option } from "./combobox.js";

/** Entries of each kind. */
const OPTIONS = 6;
const REQUEST_ID = /^[0-9a-f]{20}-\d+$/;

interface Place extends Option {
  /** State of the page that the option leads to; undefined for the request whose id is the key. */
  readonly to: Partial<Address> | undefined;
}

interface GoToProps {
  /** The page that is shown. */
  readonly page: Page;
  readonly close: () => void;
}

/** A dialog that leads to a view, segment, experience, stream or deletion request by a part of its name or id. */
export function GoTo({ page, close }: GoToProps): VNode {
  const choose = ({ key, to }: Place) => {
    close();
    if (to === undefined) open("deletions", { request: key }, page);
    else page.go(to);
  };
  return (
    <Dialog class="go-to" label="Go to" close={close}>
      <Combobox<Place>
        id="places"
        label="Go to a view, segment, experience, stream or request"
        placeholder="A part of a name or id"
        subject="Places"
        find={(text, signal) => findPlaces(text.trim(), page, signal)}
        onChoose={choose}
        hasFocus
      />
    </Dialog>
  );
}

async function findPlaces(text: string, { client, scopes }: Page, signal: AbortSignal): Promise<Place[]> {
  if (REQUEST_ID.test(text)) return [{ key: text, text, note: "deletion request", to: undefined }];
  const named = views
    .filter(({ parent, label, scopes: needed }) => {
      const isFound = parent === undefined && label.toLowerCase().includes(text.toLowerCase());
      return isFound && needed.some((scope) => scopes.has(scope));
    })
    .map(({ name, label }): Place => ({ key: name, text: label, note: "view", to: { view: name } }));
  const place = (view: Visited["view"], id: string, name: string): Place => {
    return { key: `${view}.${id}`, text: name, note: name === id ? view : `${view} ${id}`, to: { view, id } };
  };
  if (text === "") return [...named, ...visited().map(({ view, id, name }) => place(view, id, name))];
  if (!scopes.has("metric:read")) return named;
  const query = { limit: OPTIONS, q: text };
  const [segments, experiences, streams, points] = await Promise.all([
    client.page("segment", query, { signal }),
    client.page("experience", query, { signal }),
    client.page("stream", query, { signal }),
    segmentsWithPoints({ client, signal }, OPTIONS, text),
  ]);
  return [
    ...named,
    ...segments.data.map(({ id, name }) => place("segment", id, name)),
    ...(points?.data ?? []).map(({ dimension_id: id }) => place("segment", id, id)),
    ...experiences.data.map(({ id, name }) => place("experience", id, name)),
    ...streams.data.map(({ stream }) => place("stream", stream, stream)),
  ];
}
