import type { RefObject, VNode } from "preact";

interface ChoiceProps<T extends string> {
  readonly label: string;
  /** Whether the label is only read by screen readers. */
  readonly isBare?: boolean;
  readonly value: T;
  readonly options: readonly T[];
  /** Returns the words of an option; by default the option. */
  readonly words?: (option: T) => string;
  readonly onChoose: (option: T) => void;
  readonly field?: RefObject<HTMLSelectElement | null>;
}

/** A choice of one option. */
export function Choice<T extends string>(props: ChoiceProps<T>): VNode {
  const { label, isBare = false, value, options, words = String, onChoose, field = null } = props;
  const select = (
    <select
      ref={field}
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChoose(currentTarget.value as T)}
    >
      {options.map((option) => (
        <option key={option} value={option}>
          {words(option)}
        </option>
      ))}
    </select>
  );
  if (isBare) return select;
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the select is in it.
    <label>
      {label} {select}
    </label>
  );
}
