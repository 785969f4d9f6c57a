import type { RefObject, VNode } from "preact";

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly T[];
  /** Returns the words of an option; by default the option. */
  readonly words?: (option: T) => string;
  readonly onChoose: (option: T) => void;
  readonly field?: RefObject<HTMLSelectElement | null>;
}

/** A choice of one option. */
export function Choice<T extends string>(props: ChoiceProps<T>): VNode {
  const { label, value, options, words = String, onChoose, field = null } = props;
  return (
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
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  /** Width in characters. */
  readonly size?: number;
  readonly isWrong?: boolean;
  readonly onType: (text: string) => void;
}

/** A field for a short text. */
export function TextField({ label, value, placeholder, size = 20, isWrong = false, onType }: TextFieldProps): VNode {
  return (
    <input
      aria-label={label}
      aria-invalid={isWrong || undefined}
      placeholder={placeholder}
      size={size}
      autocomplete="off"
      spellcheck={false}
      value={value}
      onInput={({ currentTarget }) => onType(currentTarget.value)}
    />
  );
}

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onSwitch: (isOn: boolean) => void;
}

/** Turns something on and off. */
export function Switch({ label, isOn, onSwitch }: SwitchProps): VNode {
  return (
    <label class="switch">
      <input
        type="checkbox"
        role="switch"
        checked={isOn}
        aria-checked={isOn}
        onChange={({ currentTarget }) => onSwitch(currentTarget.checked)}
      />{" "}
      {label}
    </label>
  );
}
