/**
 * Splits items into batches, in order, so that work can pause or release memory after each. The items of a batch weigh
 * at most `most` together; a heavier item is alone in its batch.
 */
export function* weightedBatches<T>(
  items: Iterable<T>,
  most: number,
  weightOf: (item: T) => number = () => 1,
): Generator<T[]> {
  let batch: T[] = [];
  let weight = 0;
  for (const item of items) {
    const itemWeight = weightOf(item);
    if (batch.length > 0 && weight + itemWeight > most) {
      yield batch;
      batch = [];
      weight = 0;
    }
    batch.push(item);
    weight += itemWeight;
  }
  if (batch.length > 0) yield batch;
}
