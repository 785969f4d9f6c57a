import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../views/use-task.js";

/** An entry of the list below the field. */
export interface Option {
  /** Unique among the options of one list. */
  readonly key: string;
  readonly text: string;
  readonly note: string;
}

interface ComboboxProps<O extends Option> {
  /** Id of the list in the page. */
  readonly id: string;
  readonly label: string;
  readonly placeholder: string;
  /** Name of what the list contains, such as `series`. */
  readonly subject: string;
  find(text: string, signal: AbortSignal): Promise<readonly O[]>;
  onChoose(option: O): void;
  readonly hasFocus?: boolean;
  /** Text of a field whose value is the text itself, or the key of a chosen option. */
  readonly value?: string;
  onText?(text: string): void;
}

const PAUSE_MS = 200;

/**
 * A field with options that contain its text. Arrow down and Enter choose one; Escape closes the list. A field with a
 * value keeps it, and Enter alone chooses no option.
 */
export function Combobox<O extends Option>(props: ComboboxProps<O>): VNode {
  const { id, label, placeholder, subject, onChoose, hasFocus = false, value, onText } = props;
  const [typed, setTyped] = useState("");
  const text = value ?? typed;
  const [options, setOptions] = useState<readonly O[]>();
  const [active, setActive] = useState(-1);
  const [problem, setProblem] = useState<string>();
  const search = useRef<{ timer?: ReturnType<typeof setTimeout>; aborter?: AbortController }>({});
  const field = useRef<HTMLInputElement>(null);
  const isOpen = options !== undefined || problem !== undefined;

  const stop = () => {
    clearTimeout(search.current.timer);
    search.current.aborter?.abort();
  };
  useEffect(() => {
    if (hasFocus) field.current?.focus();
    return stop;
  }, []);
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
      props.find(q, aborter.signal).then(
        (found) => {
          if (aborter.signal.aborted) return;
          setOptions(found);
          setProblem(undefined);
          setActive(-1);
        },
        (error) => {
          if (aborter.signal.aborted) return;
          setProblem(messageOf(error));
        },
      );
    }, PAUSE_MS);
  };
  const choose = (option: O | undefined) => {
    if (option === undefined) return;
    close();
    setTyped("");
    onChoose(option);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While a word is composed with an input method, Enter and arrows belong to the input method.
    if (event.isComposing) return;
    const count = options?.length ?? 0;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && isOpen) close();
    else if (event.key === "Enter") choose(options?.[value === undefined ? Math.max(0, active) : active]);
    else if (step === undefined) return;
    else if (!isOpen) find(text);
    else if (count > 0) setActive((active + step + count) % count);
    event.preventDefault();
  };
  return (
    <div class="picker">
      <input
        ref={field}
        role="combobox"
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          onText?.(currentTarget.value);
          find(currentTarget.value);
        }}
        onFocus={() => find(text)}
        onBlur={close}
        onKeyDown={onKeyDown}
      />
      <div id={id} role="listbox" aria-label={subject} tabIndex={-1} hidden={!isOpen}>
        {options?.map((option, index) => (
          <div
            key={option.key}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onMouseDown={(event) => {
              event.preventDefault();
              choose(option);
            }}
          >
            <bdi>{option.text}</bdi> <span class="note">{option.note}</span>
          </div>
        ))}
        {problem !== undefined && <p class="bad">{problem}</p>}
        {problem === undefined && options?.length === 0 && <p class="note">No {subject.toLowerCase()} match.</p>}
      </div>
    </div>
  );
}
