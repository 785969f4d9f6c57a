import type { VNode } from "preact";

interface ToggleProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** A box that turns something on and off. */
export function Toggle({ label, isOn, onChange }: ToggleProps): VNode {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onChange(currentTarget.checked)} /> {label}
    </label>
  );
}
