/**
 * Does work for each item in order, `atOnce` at a time. After a failure no further item is started; rejects with the
 * first failure once the running work has ended.
 */
export async function eachAtOnce<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  let failed: { readonly error: unknown } | undefined;

  async function run(): Promise<void> {
    while (failed === undefined) {
      try {
        const { value, done } = queue.next();
        if (done) return;
        await work(value);
      } catch (error) {
        failed ??= { error };
      }
    }
  }

  await Promise.all(Array.from({ length: atOnce }, run));
  if (failed !== undefined) throw failed.error;
}
