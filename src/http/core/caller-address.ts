import { isIPv6 } from "node:net";
import type { ApiContext } from "./route.js";

/** `1.2.3.4:567` and `[::1]:567`: some proxies forward addresses with ports. */
const WITH_PORT = /^\[?(.*?)\]?:\d+$/;

/** Returns the address that Koa finds for the caller, without a port: each connection has another one. */
export function callerAddress({ ip }: ApiContext): string {
  return isIPv6(ip) ? ip : ip.replace(WITH_PORT, "$1");
}
