import { type Client, createClient } from "../../client/client.js";

/** Name of the key in the storage of the tab, which is shared with /docs and ends with the tab. */
export const KEY = "api-key";

const REFUSED =
  "The service does not accept this key, or it was revoked or has expired. No more requests are made with it.";

interface Guard {
  /** Returns whether the key can still be used; otherwise no request is made. */
  mayAsk(): boolean;
  /** Called for a 401 of any request. */
  onRefused(reason: string): void;
}

/** The client of the page. All its requests pass the guard, so that none is made with a key that has ended. */
export function guardedClient({ mayAsk, onRefused }: Guard): Client {
  return createClient({
    url: new URL(".", location.href).href,
    key: () => sessionStorage.getItem(KEY) ?? "",
    tries: 1,
    async fetch(input, init) {
      if (!mayAsk()) throw new Error("The key has ended.");
      const response = await fetch(input, init);
      if (response.status === 401 && !init?.signal?.aborted) onRefused(REFUSED);
      return response;
    },
  });
}
