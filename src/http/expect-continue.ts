import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";

/** Senders that wait for a word before they send their body. */
const waiting = new WeakSet<IncomingMessage>();

/** Lets `Expect: 100-continue` wait until `letBodyCome`, so that nobody sends a body only to be refused. */
export function holdBack(server: Server, listener: RequestListener): void {
  server.on("checkContinue", (req, res) => {
    waiting.add(req);
    listener(req, res);
  });
  server.on("checkExpectation", listener);
}

/** Tells a sender who waits that its body is welcome. */
export function letBodyCome(req: IncomingMessage, res: ServerResponse): void {
  if (waiting.delete(req)) res.writeContinue();
}
