/** Looks at every item, eight at a time; rejects with the first failure. */
export async function sideBySide<T>(items: Iterable<T>, look: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const looking = Array.from({ length: AT_ONCE }, async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await look(item);
  });
  await Promise.all(looking);
}

const AT_ONCE = 8;
