import { timeText } from "../formats/instant.js";
import type { Webhook } from "./ports.js";
import type { Receipts } from "./receipt.js";
import { checkUrl, ignoreBody, postJson, type RemoteSystem } from "./targets/remote-call.js";

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
  calls: Pick<RemoteSystem, "stopping" | "callMs"> = {},
): Webhook {
  checkUrl("webhook is wrong: it", url);
  return {
    async notify(deletion) {
      const { requestId, completedAt } = deletion;
      const receipt = await receipts.sign(deletion);
      const body = { request_id: requestId, completed_at: timeText(completedAt), receipt };
      await postJson({ name: "webhook", token, ...calls }, url, body, ignoreBody);
    },
  };
}

/**
 * Returns a function that sends other claims to the webhook with their signature. It resolves and rejects as
 * `Webhook.notify` does.
 */
export function signedCalls(
  { url, token }: WebhookSetting,
  receipts: Pick<Receipts, "signClaims">,
  calls: Pick<RemoteSystem, "stopping" | "callMs"> = {},
): SignedCall {
  return async (claims) => {
    const receipt = await receipts.signClaims(claims);
    await postJson({ name: "webhook", token, ...calls }, url, { ...claims, receipt }, ignoreBody);
  };
}

export type SignedCall = (claims: object) => Promise<void>;
