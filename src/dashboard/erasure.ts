import { ApiError, type DeletionState, type ErasurePreview, type ListedDeletion } from "../client/client.js";
import { card, el, table } from "./dom.js";
import { take } from "./fetch-series.js";
import { age, fullTime } from "./format.js";
import type { Asked, Shown } from "./view.js";

const MOST = 100;
const EVERY_MS = 10_000;
const WORD = "ERASE";

/**
 * What was typed, so that a refresh of the list takes nothing from under the hands. It is never in the address, and gone with the page.
 */
const form = el("div", { class: "stack" });
let filledFor: ReadonlySet<string> | undefined;

/** What is open and why, a request's state and receipt, a new request. */
export async function load(asked: Asked): Promise<Shown> {
  const { client, now, scopes, signal } = asked;
  const [open, done] = await Promise.all([
    take(client.deletions({ state: "open", limit: MOST }, { signal }), MOST),
    take(client.deletions({ state: "completed", limit: 20 }, { signal }), 20),
  ]);
  if (filledFor !== scopes) {
    form.replaceChildren(lookUp(asked), ...(scopes.has("entity:delete") ? [request(asked)] : []));
    filledFor = scopes;
  }
  return {
    content: [card("Open", openTable(asked, open)), form, card("Completed", completedTable(asked, done))],
    nextAt: now + EVERY_MS,
  };
}

function openTable(asked: Asked, open: readonly ListedDeletion[]): HTMLElement {
  if (open.length === 0) return el("p", {}, "No erasure is open.");
  const heads = ["Request", "Accepted", "Age", "Waits for", "Why", "Tries", "Next try", ""];
  const rows = open.map((one) => [
    el("code", {}, one.request_id),
    time(one.accepted_at),
    age(asked.now - Date.parse(one.accepted_at)),
    one.stage,
    one.problem ?? "–",
    one.attempts,
    one.next_try_at === null ? "now" : time(one.next_try_at),
    [
      one.stuck ? el("b", { class: "bad" }, "stuck ▲ ") : undefined,
      asked.scopes.has("admin") ? tryNow(asked, one) : undefined,
    ],
  ]);
  return table("Open erasures", heads, rows);
}

function tryNow({ client, again }: Asked, { request_id }: ListedDeletion): HTMLElement {
  const said = el("span", { role: "status", class: "note" });
  const button = el(
    "button",
    {
      type: "button",
      "data-is": `try ${request_id}`,
      onclick: () => {
        button.disabled = true;
        client.retryErasure(request_id).then(again, (error) => {
          button.disabled = false;
          said.textContent = wordsOf(error);
        });
      },
    },
    "Try now",
  );
  return el("span", {}, button, " ", said);
}

function completedTable(asked: Asked, done: readonly ListedDeletion[]): HTMLElement {
  if (done.length === 0) return el("p", {}, "None is completed yet.");
  const rows = done.map((one) => [
    el("code", {}, one.request_id),
    time(one.accepted_at),
    one.completed_at === null ? "–" : time(one.completed_at),
    one.completed_at === null ? "–" : age(Date.parse(one.completed_at) - Date.parse(one.accepted_at)),
    receipt(asked, one.request_id),
  ]);
  return table("Completed erasures", ["Request", "Accepted", "Completed", "Took", "Receipt"], rows);
}

/** Saves the signed receipt as a file. */
function receipt({ client, scopes }: Asked, id: string): HTMLElement | string {
  if (!scopes.has("entity:delete")) return "needs entity:delete";
  const said = el("span", { role: "status", class: "note" });
  const save = (text: string) => {
    const url = URL.createObjectURL(new Blob([text], { type: "application/jose" }));
    el("a", { href: url, download: `receipt-${id}.jws` }).click();
    URL.revokeObjectURL(url);
    said.textContent = "Saved.";
  };
  const onclick = () => void client.receipt(id).then(save, (error) => said.replaceChildren(wordsOf(error)));
  return el(
    "span",
    {},
    el("button", { type: "button", "aria-label": `Receipt of ${id}`, onclick }, "Receipt"),
    " ",
    said,
  );
}

/** How far a request is, by its id. */
function lookUp(asked: Asked): HTMLElement {
  const id = el("input", { id: "request-id", size: 34, autocomplete: "off", spellcheck: "false" });
  const shown = el("div", { role: "status" });
  const onsubmit = (event: Event) => {
    event.preventDefault();
    asked.client.deletion(id.value.trim()).then(
      (state) => shown.replaceChildren(...stateOf(asked, state)),
      (error) => shown.replaceChildren(el("p", { class: "bad" }, wordsOf(error))),
    );
  };
  return card(
    "How far is a request?",
    el(
      "form",
      { class: "controls", onsubmit },
      el("label", { for: "request-id" }, "Request id "),
      id,
      el("button", {}, "Look up"),
    ),
    shown,
  );
}

function stateOf(asked: Asked, state: DeletionState): HTMLElement[] {
  const { request_id, accepted_at, completed_at, problem, targets } = state;
  // An earlier version of the service did not keep when each place was erased and verified.
  const none = completed_at === null ? "not yet" : "not kept";
  const rows = targets.map(({ name, erased_at, verified_at }) => [
    name,
    erased_at === null ? none : time(erased_at),
    verified_at === null ? none : time(verified_at),
  ]);
  return [
    el(
      "p",
      {},
      "Accepted ",
      time(accepted_at),
      completed_at === null ? `, open: ${problem ?? `waits for ${state.stage}`}.` : ", completed ",
      completed_at === null ? undefined : time(completed_at),
      " ",
      completed_at === null ? undefined : receipt(asked, request_id),
    ),
    table("Places", ["Place", "Erased", "Verified"], rows),
  ];
}

/** A new request: a preview in counts, then the word, then the request. */
function request({ client, scopes, again }: Asked): HTMLElement {
  const field = (id: string, label: string, value: string) => {
    const input = el("input", { id: `erase-${id}`, value, autocomplete: "off", spellcheck: "false", required: true });
    return { input, shown: el("p", {}, el("label", { for: `erase-${id}` }, `${label} `), input) };
  };
  const tableName = field("table", "Table", "user");
  const fieldName = field("field", "Field", "_uid");
  const identity = field("identity", "Identity", "");
  const word = field("word", `Type ${WORD} to confirm`, "");
  const shown = el("div", { role: "status" });
  const erase = el("button", { type: "button", disabled: true, class: "danger" }, "Erase");
  const who = () => [tableName.input.value, fieldName.input.value, identity.input.value] as const;
  let previewed: string | undefined;
  const arm = () => {
    erase.disabled = word.input.value !== WORD || previewed !== JSON.stringify(who()) || identity.input.value === "";
  };
  const forget = () => {
    if (previewed !== undefined) shown.replaceChildren();
    previewed = undefined;
    word.input.value = "";
    arm();
  };
  for (const { input } of [tableName, fieldName, identity]) input.addEventListener("input", forget);
  word.input.addEventListener("input", arm);
  const preview = () => {
    const asked = who();
    const isStill = () => JSON.stringify(asked) === JSON.stringify(who());
    const seen = (content: Node) => {
      if (!isStill()) return;
      previewed = JSON.stringify(asked);
      shown.replaceChildren(content);
      arm();
    };
    if (!scopes.has("entity:read"))
      return seen(el("p", {}, "A preview needs a key with entity:read too. The erasure can be asked for without one."));
    client.previewErasure(...asked).then(
      (counts) => seen(previewOf(counts)),
      (error) => {
        if (error instanceof ApiError && error.status === 404)
          seen(el("p", {}, "No live profile has this identity. An erasure still keeps late messages of it out."));
        else if (isStill()) shown.replaceChildren(el("p", { class: "bad" }, wordsOf(error)));
      },
    );
  };
  erase.addEventListener("click", () => {
    erase.disabled = true;
    const asked = who();
    client.erase(...asked).then(
      ({ request_id }) => {
        if (JSON.stringify(asked) === JSON.stringify(who())) {
          identity.input.value = "";
          forget();
        }
        shown.replaceChildren(el("p", { class: "good" }, "Accepted as ", el("code", {}, request_id), "."));
        again();
      },
      (error) => {
        shown.replaceChildren(el("p", { class: "bad" }, wordsOf(error)));
        arm();
      },
    );
  });
  return card(
    "Erase a profile",
    el("p", {}, "It is gone from all reads at once, and for good: nothing brings it back."),
    el(
      "form",
      {
        onsubmit(event: Event) {
          event.preventDefault();
          preview();
        },
      },
      tableName.shown,
      fieldName.shown,
      identity.shown,
      el("p", {}, el("button", {}, "Preview")),
    ),
    shown,
    word.shown,
    erase,
  );
}

function previewOf({ profiles, identities, messages, segments, targets }: ErasurePreview): HTMLElement {
  const counts = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .map(([name, count]) => `${count} of ${name}`)
      .join(", ") || "none";
  const rows = [
    ["Profiles", profiles],
    ["Identities", counts(identities)],
    ["Messages", counts(messages)],
    ["Segments", segments],
    ["Also erased in", targets.join(", ") || "no other system"],
  ];
  return table("What would be removed", ["What", "How much"], rows);
}

const time = (text: string) => el("time", { datetime: text }, fullTime(Date.parse(text)));

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
