import { card, el } from "./dom.js";

/** Three steps for a service that holds nothing yet. */
export function firstSteps(): HTMLElement {
  const send = `curl ${new URL(".", location.href).href}collect/json/web -H "Authorization: $KEY" -H 'Content-Type: application/json' -d '{"_uid":"u-1","segments":["newsletter"]}'`;
  const nextHour = new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000).toISOString().slice(11, 16);
  return card(
    "Nothing is here yet",
    el(
      "ol",
      {},
      el("li", {}, "Send a message:", el("pre", { tabindex: 0 }, send)),
      el(
        "li",
        {},
        "See the segment: it is registered with the first message that names it, and its size is taken within seconds.",
      ),
      el("li", {}, `Streams appear at once; their whole hours are saved at ${nextHour} UTC.`),
    ),
  );
}
