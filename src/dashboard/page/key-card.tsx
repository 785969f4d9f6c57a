import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Code } from "./code.js";
import type { Controller } from "./controller.js";

interface KeyCardProps {
  /** Problem of the present key; undefined without one. */
  readonly reason: string | undefined;
  readonly controller: Controller;
}

/** Explains what a key is and has the field for it. No request is made until there is a key. */
export function KeyCard({ reason, controller }: KeyCardProps): VNode {
  return (
    <section class="card">
      <h1>{reason === undefined ? "API key" : "This key does not work"}</h1>
      {reason !== undefined && <p role="alert">{reason}</p>}
      <p>
        Every request carries an API key. The first start of the service made one. In the folder of the service this
        makes more; on another machine, ask its operator for one:
      </p>
      <Code text="npx entity-metrics key create --scopes metric:read,entity:read --name dashboard" />
      <KeyForm onKey={controller.useKey} />
      {reason !== undefined && (
        <button type="button" onClick={controller.forgetKey}>
          Forget it
        </button>
      )}
    </section>
  );
}

/** The field for a key. */
export function KeyForm({ onKey }: { readonly onKey: (key: string) => void }): VNode {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    if (key !== "") onKey(key);
  };
  return (
    <form class="controls" onSubmit={submit}>
      <label>
        API key <input ref={field} type="password" autocomplete="off" spellcheck={false} />
      </label>
      <button type="submit" class="primary">
        Use it
      </button>
      <p class="note">The key stays in this tab: each tab asks for it. It is sent to this service alone.</p>
    </form>
  );
}
