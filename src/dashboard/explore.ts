import { ApiError } from "../client/client.js";
import { addressText, aggregations, intervals, nameOf, type SeriesName, seriesNamed } from "./address.js";
import { chart } from "./chart.js";
import { card, el } from "./dom.js";
import { type Fetched, fetchSeries, isUnfinished, requestFor, take } from "./fetch-series.js";
import { type Unit, unitOf } from "./format.js";
import type { Asked, Shown } from "./view.js";

const OPTIONS = 20;
const units: readonly (readonly [Unit, string])[] = [
  ["people", "People"],
  ["messages", "Messages"],
  ["%", "Rates"],
];

/** Any series together, one chart a unit. */
export async function load(asked: Asked): Promise<Shown> {
  const { client, address, now, signal } = asked;
  const wanted = address.series.flatMap((name) => seriesNamed(name) ?? []);
  const series = await fetchSeries(client, wanted, address, now, signal);
  const ofUnit = (unit: Unit) => ({
    drawn: series.drawn.filter((one) => one.unit === unit),
    refused: series.refused.filter(({ name }) => unitOfName(name) === unit),
  });
  const charts = units.flatMap(([unit, title]) => {
    const { drawn, refused } = ofUnit(unit);
    return drawn.length + refused.length === 0 ? [] : [card(title, chart(title, drawn, refused))];
  });
  return {
    content: [
      card("Series", picker(asked), chosen(asked), controls(asked)),
      ...charts,
      ...(wanted.length === 0
        ? [card("Nothing is chosen", el("p", {}, "Type a part of an id above, and take a series."))]
        : [copies(asked, wanted, series)]),
    ],
    nextAt: series.nextSaveAt,
  };
}

function unitOfName(name: string): Unit {
  const { dimension = "", dimension_type = "" } = seriesNamed(name) ?? {};
  return unitOf(dimension, dimension_type);
}

/** A combobox over the ids that there are: arrows and Enter take one. */
function picker({ client, address, go, again }: Asked): HTMLElement {
  // Browsers let Tab stop at a list that scrolls, and this one closes when the field is left.
  const list = el("ul", { id: "series-options", role: "listbox", "aria-label": "Series", tabindex: -1 });
  list.hidden = true;
  let options: SeriesName[] = [];
  let active = -1;
  let under: AbortController | undefined;
  // The picker that this one takes the place of has the focus: it is handed on, and no reason to open the list.
  let getsFocusBack = document.activeElement?.matches("[role=combobox]") ?? false;
  const input = el("input", {
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "series-options",
    "aria-autocomplete": "list",
    "aria-label": "Add a series by the beginning of its id",
    placeholder: "Add a series: the beginning of its id",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => void search(),
    onfocus: () => {
      if (!getsFocusBack) void search();
      getsFocusBack = false;
    },
    onblur: close,
    onkeydown: (event) => onKey(event as KeyboardEvent),
  });

  async function search(): Promise<void> {
    under?.abort();
    under = new AbortController();
    const { signal } = under;
    try {
      const found = await take(client.series({ prefix: input.value, limit: OPTIONS }, { signal }), OPTIONS);
      options = found.flatMap(({ dimension, dimension_id, dimension_types }) =>
        [...dimension_types, ...(dimension_types.includes("actualreach") ? ["conversionrate"] : [])].map(
          (dimension_type) => ({
            dimension,
            dimension_id,
            dimension_type,
          }),
        ),
      );
      active = -1;
      draw();
    } catch (error) {
      if (signal.aborted) return;
      options = [];
      // The page itself says that a key is wrong: one more request for each letter would count as one more wrong key.
      if (error instanceof ApiError && error.status === 401) {
        input.readOnly = true;
        again();
      } else draw(`The list was not read: ${error instanceof Error ? error.message : error}`);
    }
  }
  function draw(none = "No series begins so."): void {
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    list.replaceChildren(
      ...options.map((one, index) =>
        el(
          "li",
          {
            id: `series-option-${index}`,
            role: "option",
            "aria-selected": index === active ? "true" : "false",
            onmousedown(event: Event) {
              event.preventDefault();
              pick(index);
            },
          },
          `${one.dimension_id} `,
          el("span", { class: "note" }, `${one.dimension}, ${one.dimension_type}`),
        ),
      ),
      ...(options.length === 0 ? [el("li", { class: "note" }, none)] : []),
    );
    if (active >= 0) input.setAttribute("aria-activedescendant", `series-option-${active}`);
    else input.removeAttribute("aria-activedescendant");
  }
  function close(): void {
    under?.abort();
    active = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }
  function pick(index: number): void {
    const one = options[index];
    if (one === undefined) return;
    close();
    go({ series: [...new Set([...address.series, nameOf(one)])] });
  }
  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (event.key === "Enter") pick(active);
    else if (step !== undefined && options.length > 0) active = (active + step + options.length) % options.length;
    else return;
    event.preventDefault();
    if (step !== undefined) draw();
  }
  return el("div", { class: "picker" }, input, list);
}

function chosen({ address, go }: Asked): HTMLElement {
  return el(
    "ul",
    { class: "chips" },
    ...address.series.map((name) =>
      el(
        "li",
        {},
        name,
        el(
          "button",
          {
            type: "button",
            "aria-label": `Remove ${name}`,
            onclick: () => go({ series: address.series.filter((one) => one !== name) }),
          },
          "×",
        ),
      ),
    ),
  );
}

function controls({ address, go }: Asked): HTMLElement {
  const choice = (
    label: string,
    values: readonly string[],
    value: string | undefined,
    change: (value: string | undefined) => void,
  ) => {
    const options = ["", ...values].map((one) =>
      el("option", { value: one, selected: one === (value ?? "") }, one === "" ? "as it fits" : one),
    );
    const select = el("select", { onchange: () => change(select.value === "" ? undefined : select.value) }, ...options);
    return el("label", {}, `${label} `, select);
  };
  const smooth = el("input", { type: "checkbox", "data-is": "smooth", onchange: () => go({ smooth: smooth.checked }) });
  smooth.checked = address.smooth;
  return el(
    "p",
    { class: "controls" },
    choice("Interval", intervals, address.interval, (interval) => go({ interval })),
    choice("Aggregation", aggregations, address.aggregation, (aggregation) => go({ aggregation })),
    el("label", {}, smooth, " Smooth"),
  );
}

/** The same as a link, as a command and as a file of values. */
function copies({ address, now }: Asked, wanted: readonly SeriesName[], { drawn }: Fetched): HTMLElement {
  const base = new URL(".", location.href).href;
  const requests = wanted.map((one) => requestFor(one, address, now));
  const curl = `curl ${base}api/metric -H "Authorization: $KEY" -H 'Content-Type: application/json' -d '${JSON.stringify(requests).replaceAll("'", "'\\''")}'`;
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const csv = () =>
    [
      "series,ts,value,complete",
      ...drawn.flatMap((one) =>
        one.points.map(({ ts, value }) =>
          [quoted(one.label), new Date(ts).toISOString(), value, !isUnfinished(one, ts)].join(","),
        ),
      ),
    ].join("\n");
  const said = el("span", { role: "status", class: "note" });
  const button = (label: string, text: () => string) =>
    el(
      "button",
      {
        type: "button",
        onclick: () =>
          void navigator.clipboard.writeText(text()).then(
            () => said.replaceChildren("Copied."),
            () => said.replaceChildren("This browser does not let pages copy."),
          ),
      },
      label,
    );
  return card(
    "The same elsewhere",
    el("pre", { tabindex: 0 }, curl),
    el(
      "p",
      { class: "controls" },
      button("Copy as link", () => `${base}dashboard${addressText(address)}`),
      button("Copy as curl", () => curl),
      button("Copy as CSV", csv),
      said,
    ),
  );
}
