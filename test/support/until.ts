/** Asks again and again, a few ms apart, until the answer is yes; rejects after `ms`. */
export async function until(what: string, ask: () => Promise<boolean> | boolean, ms = 15_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error(`Waited ${ms} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
