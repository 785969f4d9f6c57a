/** CPU ms that this process spends until `work` is done. Unlike time on the wall it does not depend on what else the machine does. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
