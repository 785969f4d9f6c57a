import type { VNode } from "preact";
import { Choice } from "../page/choice.js";
import { useFocus } from "../views/use-focus.js";
import { type Condition, isInstant, isText, type Kind, kinds, newCondition, testLabel } from "./draft.js";
import { Switch, TextField } from "./fields.js";
import { NameField } from "./name-field.js";
import type { RowContext } from "./row-context.js";
import { ValuesField } from "./values-field.js";

interface ConditionRowProps {
  readonly condition: Condition;
  /** Position of the condition in errors. */
  readonly path: string;
  readonly context: RowContext;
  readonly onChange: (condition: Condition) => void;
  readonly onRemove: () => void;
}

const kindNames = Object.keys(kinds) as Kind[];

/** A condition: not, kind, name, test and value, or its JSON. */
export function ConditionRow({ condition, path, context, onChange, onRemove }: ConditionRowProps): VNode {
  const { key, isNot, kind, name, test, value, within, ignoresCase } = condition;
  const focus = useFocus<HTMLSelectElement>(context.added.current === key);
  const change = (changed: Partial<Condition>) => onChange({ ...condition, ...changed });
  const { issue } = context;
  const isWrong = issue !== undefined && `${issue.path}.`.startsWith(`${path}.`);
  const chooseTest = (chosen: string) => change({ test: chosen, ignoresCase: false, within: "" });
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border, which only groups have.
    <div class="controls" role="group" aria-label="Condition">
      <Switch label="not" isOn={isNot} onSwitch={(isOn) => change({ isNot: isOn })} />
      <Choice
        isBare
        field={focus}
        label="Kind"
        value={kind}
        options={kindNames}
        onChoose={(chosen) => onChange({ ...newCondition(chosen), key, isNot })}
      />
      {kind === "profile" && (
        <Choice
          isBare
          label="Name"
          value={name}
          options={["seen_at", "created_at"]}
          words={(field) => (field === "seen_at" ? "last seen" : "created")}
          onChoose={(field) => change({ name: field })}
        />
      )}
      {kind !== "profile" && kind !== "JSON" && (
        <NameField key={kind} kind={kind} condition={condition} context={context} onChange={change} />
      )}
      {kinds[kind].length > 1 && (
        <Choice<string>
          isBare
          label="Test"
          value={test}
          options={kinds[kind]}
          words={(one) => testLabel(one, kind)}
          onChoose={chooseTest}
        />
      )}
      {test === "is" && <ValuesField isWrong={isWrong} text={value} onType={(text) => change({ value: text })} />}
      {((test !== "" && test !== "is") || kind === "JSON") && (
        <TextField
          label={kind === "JSON" ? "JSON" : "Value"}
          placeholder={isInstant(test) ? "now-30d" : ""}
          size={kind === "JSON" ? 60 : 20}
          isWrong={isWrong}
          value={value}
          onType={(text) => change({ value: text })}
        />
      )}
      {test.startsWith("count") && (
        <>
          times within
          <TextField
            label="Within"
            placeholder="90d"
            size={5}
            value={within}
            onType={(text) => change({ within: text })}
          />
        </>
      )}
      {isText(test) && (
        <Switch label="any case" isOn={ignoresCase} onSwitch={(isOn) => change({ ignoresCase: isOn })} />
      )}
      <button type="button" class="icon" aria-label="Remove the condition" onClick={onRemove}>
        ×
      </button>
      {isWrong && <span class="bad">{issue.message}</span>}
    </div>
  );
}
