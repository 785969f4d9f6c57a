// Measures the built service on servers against itself embedded and against the servers alone, in the same run.

import { measureProfiles } from "./profiles-on-servers.mjs";
import { measureInMemory, measureNothingInMemory, measureSteady } from "./series-on-servers.mjs";
import { serverStores } from "./server-stores.mjs";
import { filledTime } from "./synthetic-points.mjs";

/** Returns the lines of the result about servers. */
export async function measureOnServers(session) {
  const { key, seriesCount, days, say } = session;
  const stores = serverStores();
  session.use(stores);
  const filled = filledTime(days, Date.now());
  const startService = () => session.service("servers", stores.environment);
  const service = await startService();
  const embedded = await session.service("embedded");
  const lines = await measureInMemory({ service, embedded, filled, session });
  await session.stop(embedded);

  lines.push(...(await measureProfiles({ service, stores, key, people: seriesCount * 10, say })));
  await session.stop(service);

  const cold = await startService();
  lines.push(...(await measureNothingInMemory({ service: cold, stores, filled, session })));
  lines.push(await measureSteady({ service: cold, stores, session }));
  await session.stop(cold);
  return lines;
}
