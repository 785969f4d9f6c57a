import { dataFolder } from "./data-folder.js";
import { type FaultProxy, openFaultProxy } from "./fault-proxy.js";
import { mongodbUrl, nameOf } from "./servers.js";
import { startService, type TestService } from "./service.js";

/** A service on the three servers that reaches MongoDB through a proxy. */
export interface ServiceBehindProxy {
  readonly service: TestService;
  readonly proxy: FaultProxy;
  /** Name of its databases. */
  readonly name: string;
  close(): Promise<void>;
}

/** Starts one whose stores may take `deadlineMs` at most. */
export async function startBehindProxy(deadlineMs: number): Promise<ServiceBehindProxy> {
  const proxy = await openFaultProxy(process.env.TEST_MONGODB_URL ?? "");
  const dir = dataFolder();
  const name = nameOf(dir);
  const overrides = { entities: { url: proxy.url(mongodbUrl(name)) }, limits: { store_deadline_ms: deadlineMs } };
  const service = await startService(overrides, { onServers: true, dir });
  return {
    service,
    proxy,
    name,
    async close() {
      await proxy.set("pass");
      await service.stop();
      await proxy.close();
    },
  };
}
