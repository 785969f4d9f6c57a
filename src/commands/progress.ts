import type { WriteStream } from "node:tty";

const REDRAW_MS = 100;
const REPORT_MS = 5000;
const BAR_WIDTH = 24;

export interface ProgressOptions {
  /** Noun of the counted items in the singular, or the symbol of a unit. */
  readonly unit: string;
  /** Total amount, if known. */
  readonly total?: number | undefined;
  /** Formats an amount; default: digits in groups of three. */
  readonly format?: (amount: number) => string;
  readonly out?: Pick<WriteStream, "write" | "isTTY">;
  readonly now?: () => number;
}

/** Shows the progress of `work` until it ends or fails. */
export async function withProgress<T>(
  label: string,
  options: ProgressOptions,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = new Progress(label, options);
  try {
    return await work(progress);
  } finally {
    progress.finish();
  }
}

/** Progress display on stderr: a bar on a terminal, otherwise a line every few seconds. */
export class Progress {
  readonly #label: string;
  readonly #options: Required<Omit<ProgressOptions, "total">> & { readonly total: number | undefined };
  readonly #startedAt: number;
  #shownAt: number;
  #done = 0;
  #drawn = false;

  constructor(label: string, { unit, total, format = grouped, out = process.stderr, now = Date.now }: ProgressOptions) {
    this.#label = label;
    this.#options = { unit, total, format, out, now };
    this.#startedAt = now();
    this.#shownAt = this.#startedAt;
  }

  /** Sets the amount done. */
  update(done: number): void {
    this.#done = done;
    const { out, now } = this.#options;
    if (now() - this.#shownAt < (out.isTTY ? REDRAW_MS : REPORT_MS)) return;
    this.#shownAt = now();
    this.#show();
  }

  /** Writes a separate line, above the bar if there is one. */
  say(line: string): void {
    this.#wipe();
    this.#options.out.write(`${line}\n`);
  }

  /** Shows the final state. */
  finish(): void {
    this.#show();
    if (this.#drawn) this.#options.out.write("\n");
    this.#drawn = false;
  }

  #show(): void {
    const { out, total } = this.#options;
    if (!out.isTTY) {
      out.write(`${this.#label}: ${this.#state()}\n`);
      return;
    }
    const filled = total ? Math.min(BAR_WIDTH, Math.round((this.#done / total) * BAR_WIDTH)) : 0;
    const bar = total ? `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}] ` : "";
    out.write(`\r\x1b[2K${this.#label} ${bar}${this.#state()}`);
    this.#drawn = true;
  }

  #state(): string {
    const { unit, total, format, now } = this.#options;
    const seconds = (now() - this.#startedAt) / 1000;
    const rate = seconds > 0 ? this.#done / seconds : 0;
    const perSecond = Math.round(rate);
    const of = total === undefined ? "" : ` of ${format(total)}`;
    const left =
      total !== undefined && rate > 0 && this.#done < total ? `, ${duration((total - this.#done) / rate)} left` : "";
    const amount = `${format(this.#done)}${of} ${nounFor(total ?? this.#done, unit)}`;
    return `${amount}, ${format(perSecond)} ${nounFor(perSecond, unit)}/s${left}`;
  }

  #wipe(): void {
    if (this.#drawn) this.#options.out.write("\r\x1b[2K");
    this.#drawn = false;
  }
}

/** Formats bytes in MB. */
export function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

/** Formats a number with its noun: `1 message`, `2 messages`. */
export function counted(count: number, noun: string): string {
  return `${count} ${nounFor(count, noun)}`;
}

/** Returns a regular noun in singular or plural. Unit symbols in capitals have one form. */
function nounFor(count: number, noun: string): string {
  return count === 1 || /^[A-Z]+$/.test(noun) ? noun : `${noun}s`;
}

function grouped(amount: number): string {
  return amount.toLocaleString("en-US");
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
