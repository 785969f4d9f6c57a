import { setTimeout as sleep } from "node:timers/promises";
import type { CatalogueStore, SegmentRules, WalkPlace } from "../../catalogue/ports.js";
import type { Facts } from "../../facts.js";
import { hasPassed, moveWalk, walkPlace } from "../../segments/walk-place.js";
import type { DueProfile, EntityStore } from "../ports.js";
import type { EntityId } from "../profile/entity.js";
import { type DecideDependencies, decideProfiles } from "./decide-profiles.js";

/** `damaged` is called once for each profile. */
export interface WalkerDependencies extends DecideDependencies {
  readonly entities: EntityStore;
  readonly catalogue: Pick<CatalogueStore, "rules" | "setComputing">;
  readonly facts: Pick<Facts, "text" | "replaceText">;
  /** Takes or renews the lease of the active walker. */
  lease(): Promise<"taken" | "renewed" | "refused">;
  /** See `EntityStores`: a commit that was planned before a rule changed may be stored until then. */
  readonly commitMs: number;
}

/** Decides about stored profiles by time, and by rules that have changed. Only one of several is active at a time. */
export interface RuleWalker {
  /** Does a part of the due work; returns true if more is left. A later tick repeats a part that failed. */
  tick(): Promise<boolean>;
  /** Milliseconds since the longest due profile was due; of the last tick. */
  lag(): number;
}

/** Profiles of one page: one commit, which takes at most some 10 ms on the embedded engine. */
const PAGE = 100;

/** The walk rests for this multiple of the time of a page, so that it takes a quarter of a core. */
const REST = 3;

/** In the data: the time of the clock, Unix ms. */
const CLOCK = "rule clock";
const STORE_CLOCK_EVERY_MS = 10_000;
/** Difference of the clocks of two processes. */
const CLOCKS_APART_MS = 2_000;

export function ruleWalker(dependencies: WalkerDependencies): RuleWalker {
  const { catalogue, clock, entities, facts, lease, commitMs } = dependencies;
  let lastDue: DueProfile | undefined;
  let dueSince: number | undefined;
  /** When this walker first saw each change whose circle has not begun: clocks of other processes may differ. */
  let seen: ReadonlyMap<number, number> = new Map();
  const damaged = new Set<EntityId>();
  const deciding: DecideDependencies = {
    ...dependencies,
    damaged(id, error) {
      if (!damaged.has(id)) dependencies.damaged(id, error);
      damaged.add(id);
    },
  };

  async function tick(): Promise<boolean> {
    if ((await lease()) === "refused") return false;
    const rules = await catalogue.rules();
    if (rules.segments.length === 0) {
      dueSince = undefined;
      lastDue = undefined;
      return false;
    }
    const now = clock();
    if (await computeAllIfSetBack(rules, now)) return true;
    const isDue = await decideDue(now);
    const isWalking = await walk(rules);
    return isDue || isWalking;
  }

  /** Decides a page of each table with a circle. New circles begin with this page; complete ones end. */
  async function walk({ segments }: SegmentRules): Promise<boolean> {
    const computing = segments.flatMap((segment) => {
      const circle = segment.byRule.computing;
      return circle === undefined ? [] : { ...segment, circle };
    });
    const now = performance.now();
    const isNew = computing.filter(({ circle }) => circle.start === undefined);
    seen = new Map(isNew.map(({ byRule: { change } }) => [change, seen.get(change) ?? now]));
    const circles = computing.filter(({ byRule }) => now - (seen.get(byRule.change) ?? -Infinity) >= commitMs);
    for (const table of new Set(circles.map((segment) => segment.table))) {
      const page = await walkPage(table);
      if (page === undefined) return true;
      for (const { id, byRule, circle } of circles.filter((segment) => segment.table === table)) {
        // The places of a walk are not copied by npm run migrate: a circle of before begins again.
        const isKnown = circle.start !== undefined && circle.start.lap <= page.from.lap;
        const [since, start] = [circle.since, isKnown ? circle.start : page.from];
        const isComplete = hasPassed(page.to, start);
        if (isComplete || !isKnown) {
          await catalogue.setComputing(id, byRule, isComplete ? undefined : { since, start });
        }
      }
    }
    return circles.length > 0;
  }

  /**
   * Decides the next page of a table, with rules at least as new as those read before. Undefined if another process has
   * moved the place since: it may have decided this page by earlier rules.
   */
  async function walkPage(table: string): Promise<{ from: WalkPlace; to: WalkPlace } | undefined> {
    const from = await walkPlace(facts, table);
    const began = performance.now();
    const ids = await entities.idsAfter(from.after || undefined, PAGE, table);
    await decideProfiles(deciding, ids, "walk");
    const passed = from.passed + ids.length;
    const isLast = ids.length < PAGE;
    const to = { lap: from.lap + (isLast ? 1 : 0), after: isLast ? "" : (ids.at(-1) ?? ""), passed };
    if (!(await moveWalk(facts, table, from, to))) return undefined;
    await sleep(REST * (performance.now() - began));
    return { from, to };
  }

  /** Decides a page of the profiles that are due at `now`; returns whether more may be. Damaged ones stay due. */
  async function decideDue(now: number): Promise<boolean> {
    const page = await entities.dueAfter(now, lastDue, PAGE);
    dueSince = page.find(({ id }) => !damaged.has(id))?.due;
    await decideProfiles(
      deciding,
      page.map(({ id }) => id),
      "time",
    );
    const isLast = page.length < PAGE;
    lastDue = isLast ? undefined : page.at(-1);
    return !isLast;
  }

  /**
   * After the clock was set back a decision may be of a later time, so each profile is decided again. Returns whether
   * the clock was set back.
   */
  async function computeAllIfSetBack({ segments }: SegmentRules, now: number): Promise<boolean> {
    const text = await facts.text(CLOCK);
    const last = Number(text ?? Number.NEGATIVE_INFINITY);
    const isSetBack = now < last - CLOCKS_APART_MS;
    if (isSetBack) {
      for (const { id, byRule } of segments) {
        if (!(await catalogue.setComputing(id, byRule, { since: now }))) return true;
      }
    }
    if (isSetBack || now >= last + STORE_CLOCK_EVERY_MS) await facts.replaceText(CLOCK, text, String(now));
    return isSetBack;
  }

  return {
    tick,
    lag: () => (dueSince === undefined ? 0 : Math.max(0, clock() - dueSince)),
  };
}
