import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Choice } from "../page/choice.js";
import { useFocus } from "../views/use-focus.js";
import { ConditionRow } from "./condition-row.js";
import { type Draft, type Group, newCondition, newGroup } from "./draft.js";
import { Switch } from "./fields.js";
import type { RowContext } from "./row-context.js";

interface GroupRowsProps {
  readonly group: Group;
  /** Position of the group in errors. */
  readonly path: string;
  readonly context: RowContext;
  readonly onChange: (group: Group) => void;
  /** Absent for the outermost group. */
  readonly onRemove?: () => void;
}

/** A group of conditions: all of them hold, or any. */
export function GroupRows({ group, path, context, onChange, onRemove }: GroupRowsProps): VNode {
  const { kind, isNot, parts } = group;
  const add = useRef<HTMLButtonElement>(null);
  const focus = useFocus<HTMLSelectElement>(context.added.current === group.key);
  const own = `${path}${isNot ? ".not" : ""}.${kind}`;
  const put = (part: Draft) => {
    context.added.current = part.key;
    onChange({ ...group, parts: [...parts, part] });
  };
  const remove = (index: number) => {
    onChange({ ...group, parts: parts.toSpliced(index, 1) });
    add.current?.focus();
  };
  return (
    <fieldset>
      <legend class="controls">
        {(isNot || onRemove !== undefined) && (
          <Switch label="not" isOn={isNot} onSwitch={(isOn) => onChange({ ...group, isNot: isOn })} />
        )}
        <Choice
          isBare
          field={focus}
          label="Conditions that hold"
          value={kind}
          options={["all", "any"]}
          onChoose={(chosen) => onChange({ ...group, kind: chosen })}
        />
        of these hold
        {onRemove !== undefined && (
          <button type="button" class="icon" aria-label="Remove the group" onClick={onRemove}>
            ×
          </button>
        )}
      </legend>
      {parts.map((part, index) => {
        const props = {
          path: `${own}[${index}]`,
          context,
          onChange: (next: Draft) => onChange({ ...group, parts: parts.with(index, next) }),
          onRemove: () => remove(index),
        };
        return "parts" in part ? (
          <GroupRows key={part.key} group={part} {...props} />
        ) : (
          <ConditionRow key={part.key} condition={part} {...props} />
        );
      })}
      <div class="controls">
        <button ref={add} type="button" class="quiet" onClick={() => put(newCondition())}>
          + condition
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => put(newGroup(kind === "all" ? "any" : "all", [newCondition()]))}
        >
          + group
        </button>
      </div>
    </fieldset>
  );
}
