import { type Deletion, PROFILE, stageOf } from "./deletion.js";

/** Requests that wait to be run, in queues that do not delay each other. */
export interface RunQueues {
  /** Puts the request at the end of a queue, unless it waits or runs already. */
  add(queue: string, requestId: string): void;
  /** Resolves when no request waits or runs. */
  idle(): Promise<void>;
  /** Drops the requests that wait; resolves when none runs. */
  close(): Promise<void>;
}

/** The queue of runs that call no remote target. Every other queue has the name of the remote target that its runs call. */
export const OWN_STORES = "";

/** The queue in which an open request is run next, given the names of all remote targets. */
export function queueOf(deletion: Pick<Deletion, "targets" | "done">, remote: ReadonlySet<string>): string {
  const stage = stageOf(deletion);
  if (remote.has(stage)) return stage;
  if (stage === PROFILE || deletion.targets.includes(stage)) return OWN_STORES;
  // All targets are erased: what follows verifies each of them once more.
  return deletion.targets.findLast((name) => remote.has(name)) ?? OWN_STORES;
}

/** Runs of one queue that are under way at once. */
const AT_ONCE = 8;

/** `run` never rejects; it resolves with the queue in which the request is to go on, or undefined when the run has ended. */
export function runQueues(run: (queue: string, requestId: string) => Promise<string | undefined>): RunQueues {
  const queues = new Map<string, { waiting: string[]; running: number }>();
  const known = new Set<string>();
  const underWay = new Set<Promise<void>>();
  let closed = false;

  function queueNamed(name: string) {
    const queue = queues.get(name) ?? { waiting: [], running: 0 };
    queues.set(name, queue);
    return queue;
  }

  function add(name: string, requestId: string): void {
    if (closed || known.has(requestId)) return;
    known.add(requestId);
    queueNamed(name).waiting.push(requestId);
    next(name);
  }

  function next(name: string): void {
    const queue = queueNamed(name);
    if (queue.running >= AT_ONCE) return;
    const requestId = queue.waiting.shift();
    if (requestId === undefined) return;
    queue.running += 1;
    const ended = run(name, requestId).then((goesOnIn) => {
      underWay.delete(ended);
      queue.running -= 1;
      known.delete(requestId);
      if (goesOnIn !== undefined) add(goesOnIn, requestId);
      next(name);
    });
    underWay.add(ended);
  }

  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.all(underWay);
  }

  return {
    add,
    idle,
    async close() {
      closed = true;
      for (const queue of queues.values()) queue.waiting = [];
      await idle();
    },
  };
}
