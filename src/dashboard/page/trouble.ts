import type { Client } from "../../client/client.js";

const TIMEOUT_MS = 10_000;

/** Returns why the service or one of its stores does not work; undefined while all of them do. */
export async function troubleOf(client: Pick<Client, "ready">): Promise<string | undefined> {
  try {
    const { stores } = await client.ready({ signal: AbortSignal.timeout(TIMEOUT_MS) });
    const down = stores.filter(({ state }) => state === "down").map(({ name }) => name);
    return down.length === 0 ? undefined : `${down.join(" and ")} ${down.length === 1 ? "is" : "are"} down.`;
  } catch {
    return "The service is unreachable.";
  }
}
