import { StartError } from "../../errors.js";
import type { Progress } from "../progress.js";
import type { LineIssue, Rejections } from "../rejections.js";
import { InterruptedError } from "../run-command.js";
import type { ServiceAnswer, ServiceClient } from "../service-client.js";
import { type Batch, type BatchPoint, encodeBatch } from "./batches.js";

/** Requests under way at once. */
const AT_ONCE = 3;

export interface SendParts {
  readonly client: ServiceClient;
  readonly rejections: Rejections;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Sends every batch; answers how many points were written. Stops at the first failure, and says in its words where. */
export async function sendBatches(batches: Iterable<Batch>, parts: SendParts): Promise<number> {
  const queue = batches[Symbol.iterator]();
  const underWay: Batch[] = [];
  const refusedTimes = new RefusedTimes();
  let sent = 0;
  let failure: unknown;

  const work = async () => {
    while (failure === undefined) {
      const { value: batch, done } = queue.next();
      if (done) return;
      underWay.push(batch);
      try {
        const written = await sendBatch(batch, refusedTimes, parts);
        sent += written;
      } catch (error) {
        failure ??= error;
        return;
      }
      underWay.splice(underWay.indexOf(batch), 1);
      parts.progress.update(sent);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  parts.progress.finish();
  if (failure === undefined) return sent;
  const place = placeOf(underWay[0], sent);
  if (parts.signal.aborted) throw new InterruptedError(`Stopped. ${place}`, { cause: failure });
  throw new StartError(`${messageOf(failure)}. ${place}`, { cause: failure });
}

/** Times that the service has refused, and with them every time before or after: it says only of some. */
class RefusedTimes {
  #notAfter = Number.NEGATIVE_INFINITY;
  #notBefore = Number.POSITIVE_INFINITY;

  /** Learns from an error; false when it is about something else. */
  learn(code: string, ms: number | undefined): boolean {
    if (ms === undefined) return false;
    if (code === "before_retention" || code === "too_old") this.#notAfter = Math.max(this.#notAfter, ms);
    else if (code === "too_far_ahead") this.#notBefore = Math.min(this.#notBefore, ms);
    else return false;
    return true;
  }

  issueOf(ms: number): LineIssue | undefined {
    if (ms <= this.#notAfter) return { code: "before_retention", message: "its time is before what the service keeps" };
    if (ms >= this.#notBefore) return { code: "too_far_ahead", message: "its time is more than 10 minutes ahead" };
    return undefined;
  }
}

/** Sends a batch, without the points that the service refuses: these become rejections. Answers how many were written. */
async function sendBatch(batch: Batch, refused: RefusedTimes, parts: SendParts): Promise<number> {
  const points = batch.points.filter((point) => {
    const issue = refused.issueOf(point.ts);
    if (issue !== undefined) parts.rejections.add(point.origin, issue);
    return issue === undefined;
  });
  if (points.length === 0) return 0;
  const { body, times } = encodeBatch({ points });
  const answer = await parts.client.post("/api/metric/points", body, { "Content-Type": "application/json" });
  if (answer.status === 200) return points.length;
  if (answer.status === 413 && points.length > 1) return sendHalves(points, refused, parts);
  const errors = answer.status === 400 ? errorsOf(answer) : [];
  const learnt = errors.filter(({ code, path }) => refused.learn(code, times[Number(/\[(\d+)\]/.exec(path)?.[1])]));
  if (learnt.length > 0) return sendBatch({ points }, refused, parts);
  if (answer.status !== 400) throw new StartError(`The service answered ${answer.status}`);
  if (points.length > 1) return sendHalves(points, refused, parts);
  const issue = errors[0] ?? { code: "refused", message: "the service refused it" };
  for (const { origin } of points) parts.rejections.add(origin, issue);
  return 0;
}

async function sendHalves(points: readonly BatchPoint[], refused: RefusedTimes, parts: SendParts): Promise<number> {
  const middle = points.length >> 1;
  const first = await sendBatch({ points: points.slice(0, middle) }, refused, parts);
  return first + (await sendBatch({ points: points.slice(middle) }, refused, parts));
}

function errorsOf({ body }: ServiceAnswer): { code: string; path: string; message: string }[] {
  const errors = (body as { errors?: unknown } | undefined)?.errors;
  return Array.isArray(errors) ? errors : [];
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

function placeOf(batch: Batch | undefined, sent: number): string {
  const again = "Running it again is safe: what is there is written again as it is";
  const first = batch?.points[0];
  if (first === undefined || sent === 0) return `No slot is known to be written. ${again}`;
  const { series, ts } = first;
  const place = `${series.dimension.name} ${series.id} ${series.type} at ${new Date(ts).toISOString()}`;
  return `${sent} slots are written, all of those before ${place}. ${again}`;
}
