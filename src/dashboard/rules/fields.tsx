import type { VNode } from "preact";

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
