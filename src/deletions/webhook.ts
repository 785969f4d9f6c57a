import type { Webhook } from "./ports.js";
import type { Receipts } from "./receipt.js";
import { checkUrl, ignoreBody, post, type RemoteSystem } from "./targets/remote-call.js";

/** Setting `webhook`. */
export interface WebhookSetting {
  /** Https, unless the host is this machine. */
  readonly url: string;
  readonly token: string;
}

/** Creates the webhook from its setting. Throws a `StartError` when its address is not safe for the token. */
export function webhookAt(
  { url, token }: WebhookSetting,
  receipts: Pick<Receipts, "sign">,
  calls: Pick<RemoteSystem, "stopping"> = {},
): Webhook {
  checkUrl("webhook is wrong: it", url);
  return {
    async send(body, claims = body) {
      const made = { body: JSON.stringify({ ...body, receipt: await receipts.sign(claims) }) };
      await post({ name: "webhook", token, ...calls }, url, async () => made, ignoreBody);
    },
  };
}
