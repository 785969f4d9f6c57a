import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Client } from "../../client/client.js";
import { nameOf, type SeriesName } from "../address.js";
import type { Page } from "../view.js";
import { isRefusedKey, messageOf } from "./use-task.js";

const OPTIONS = 20;
const PAUSE_MS = 200;
const LIST_ID = "series-options";

interface Option extends SeriesName {
  /** The catalogue's name; undefined where the series has none. */
  readonly name: string | undefined;
}

/** A combobox that finds series by any part of an id or a name. Arrow down and Enter choose one. */
export function SeriesPicker({ page }: { readonly page: Page }): VNode {
  const [text, setText] = useState("");
  const [options, setOptions] = useState<readonly Option[]>();
  const [active, setActive] = useState(-1);
  const [problem, setProblem] = useState<string>();
  const search = useRef<{ timer?: ReturnType<typeof setTimeout>; aborter?: AbortController }>({});
  const isOpen = options !== undefined || problem !== undefined;

  const stop = () => {
    clearTimeout(search.current.timer);
    search.current.aborter?.abort();
  };
  useEffect(() => stop, []);
  const close = () => {
    stop();
    setOptions(undefined);
    setProblem(undefined);
    setActive(-1);
  };
  const find = (q: string) => {
    stop();
    const aborter = new AbortController();
    search.current.aborter = aborter;
    search.current.timer = setTimeout(() => {
      findSeries(page.client, q, aborter.signal).then(
        (found) => {
          setOptions(found);
          setProblem(undefined);
          setActive(-1);
        },
        (error) => {
          if (aborter.signal.aborted) return;
          setProblem(messageOf(error));
          if (isRefusedKey(error)) page.reload();
        },
      );
    }, PAUSE_MS);
  };
  const choose = (option: Option | undefined) => {
    if (option === undefined) return;
    close();
    setText("");
    page.go({ series: [...new Set([...page.address.series, nameOf(option)])] });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter and arrows choose among the words of an input method first.
    if (event.isComposing) return;
    const count = options?.length ?? 0;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (event.key === "Enter") choose(options?.[Math.max(0, active)]);
    else if (step === undefined) return;
    else if (!isOpen) find(text);
    else if (count > 0) setActive((active + step + count) % count);
    event.preventDefault();
  };
  return (
    <div class="picker">
      <input
        role="combobox"
        aria-label="Add a series by a part of its id or name"
        aria-expanded={isOpen}
        aria-controls={LIST_ID}
        aria-autocomplete="list"
        aria-activedescendant={active >= 0 ? `${LIST_ID}-${active}` : undefined}
        placeholder="Add a series: a part of its id or name"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          find(currentTarget.value);
        }}
        onFocus={() => find(text)}
        onBlur={close}
        onKeyDown={onKeyDown}
      />
      <Options options={options} problem={problem} active={active} isOpen={isOpen} choose={choose} />
    </div>
  );
}

interface OptionsProps {
  readonly options: readonly Option[] | undefined;
  readonly problem: string | undefined;
  readonly active: number;
  readonly isOpen: boolean;
  readonly choose: (option: Option) => void;
}

function Options({ options = [], problem, active, isOpen, choose }: OptionsProps): VNode {
  return (
    <div id={LIST_ID} role="listbox" aria-label="Series" tabIndex={-1} hidden={!isOpen}>
      {options.map((option, index) => (
        <div
          key={nameOf(option)}
          id={`${LIST_ID}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          onMouseDown={(event) => {
            event.preventDefault();
            choose(option);
          }}
        >
          {option.name ?? option.dimension_id}{" "}
          <span class="note">
            {option.dimension} {option.dimension_id}, {option.dimension_type}
          </span>
        </div>
      ))}
      {problem !== undefined && <p class="bad">{problem}</p>}
      {problem === undefined && options.length === 0 && <p class="note">No series matches.</p>}
    </div>
  );
}

/** Series whose id or catalogue name contains the text, grouped by dimension. */
async function findSeries(client: Client, q: string, signal: AbortSignal): Promise<Option[]> {
  const query = { limit: OPTIONS, q: q || undefined };
  const [series, segments, experiences] = await Promise.all([
    client.page("series", query, { signal }),
    client.page("segment", query, { signal }),
    client.page("experience", query, { signal }),
  ]);
  const names = new Map<string, string>([
    ...segments.data.map(({ id, name }) => [`segment.${id}`, name] as const),
    ...experiences.data.map(({ id, name }) => [`experience.${id}`, name] as const),
  ]);
  const options = new Map<string, Option>();
  const add = (dimension: string, dimension_id: string, types: readonly string[]) => {
    for (const dimension_type of types) {
      const option = { dimension, dimension_id, dimension_type, name: names.get(`${dimension}.${dimension_id}`) };
      options.set(nameOf(option), option);
    }
  };
  for (const { dimension, dimension_id, dimension_types } of series.data) {
    const hasRate = dimension_types.includes("actualreach");
    add(dimension, dimension_id, hasRate ? ["conversionrate", ...dimension_types] : dimension_types);
  }
  for (const { id } of segments.data) add("segment", id, ["size"]);
  for (const { id } of experiences.data) add("experience", id, ["conversionrate", "potentialreach", "actualreach"]);
  return [...options.values()].sort((a, b) => (a.dimension < b.dimension ? -1 : a.dimension > b.dimension ? 1 : 0));
}
