import type { IncomingMessage } from "node:http";
import { isIPv4, isIPv6, SocketAddress } from "node:net";

/**
 * The address by which a caller is counted, in its one spelling: that of the connection, or, behind a trusted proxy, the right-most one of
 * X-Forwarded-For. An entry that is no address counts as absent.
 */
export function callerAddress({ headers, socket }: IncomingMessage, trustProxy: boolean): string {
  const forwarded = trustProxy ? String(headers["x-forwarded-for"] ?? "") : "";
  const entry = forwarded.slice(forwarded.lastIndexOf(",") + 1).trim();
  return addressOf(entry) ?? addressOf(socket.remoteAddress ?? "") ?? "";
}

/** `1.2.3.4`, `1.2.3.4:567`, `[::1]` and `[::1]:567`; an IPv6 address may omit the brackets. */
const WITH_PORT = /^(?:\[(?<v6>[^\]]*)\]|(?<v4>[^:]*))(?::\d{1,5})?$/;

const MAPPED = "::ffff:";

function addressOf(entry: string): string | undefined {
  const { v4, v6 = entry } = WITH_PORT.exec(entry)?.groups ?? {};
  if (v4 !== undefined) return isIPv4(v4) ? v4 : undefined;
  if (!isIPv6(v6)) return undefined;
  const { address } = new SocketAddress({ address: v6, family: "ipv6" });
  return address.startsWith(MAPPED) && isIPv4(address.slice(MAPPED.length)) ? address.slice(MAPPED.length) : address;
}
