/**
 * Asks again and again until the answer is yes; rejects after `ms`. Between two questions are at least 5 ms, and three
 * times as long as the last one took, so that they leave the processor to the work that is waited for.
 */
export async function until(what: string, ask: () => Promise<boolean> | boolean, ms = 15_000): Promise<void> {
  const deadline = performance.now() + ms;
  for (;;) {
    const asked = performance.now();
    if (await ask()) return;
    const answered = performance.now();
    if (answered > deadline) throw new Error(`Waited ${ms} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, Math.max(5, 3 * (answered - asked))));
  }
}
