import { checkBatch } from "../entities/collect/apply-batch.js";
import { collectMessages } from "../entities/collect/collect-messages.js";
import { identityHashing } from "../entities/profile/identity-hash.js";
import type { BatchMessage } from "../entities/profile/message.js";
import { checkIdentities } from "../entities/read/check-identities.js";
import { profileSampler } from "../entities/read/sample-profiles.js";
import { requestHashing } from "../entities/requests/repeatable-run.js";
import { previewRoutes } from "../http/catalogue/preview.js";
import { collectRoutes } from "../http/collect/index.js";
import { entityRoutes } from "../http/entities/index.js";
import { segmentRoutes } from "../http/segment/index.js";
import { clusteredIds } from "../ids.js";
import { eventNames } from "../keys/event-names.js";
import { currentRules } from "../segments/current-rules.js";
import type { SharedDependencies } from "./shared.js";

/** Connects collecting messages and reading profiles. */
export function composeProfiles({
  settings,
  stores,
  clock,
  arrivalClock,
  memory,
  cache,
  tables,
  meters,
  log,
  failpoint,
}: SharedDependencies) {
  const { limits } = settings;
  const { entities, history, suppression, memberships, entityKeys, idempotency } = stores;
  const countDamaged = meters.counter("damaged_profiles_total", "Attempts to read a profile whose data was altered.");
  const opening = {
    damaged(entity: string, err: unknown) {
      countDamaged();
      log.error({ entity, err }, "a profile is damaged; lists omit it, and reads of it fail");
    },
  };
  const hashIdentity = identityHashing(stores.pepper);
  const hashRequest = requestHashing(stores.pepper);
  const profiles = { entities, history, suppression, memberships, entityKeys };
  const rules = currentRules(stores.catalogue);
  const countDecisions = meters.counter(
    "rule_decisions_total",
    "Changed decisions of rules about people, by cause: message, time or walk.",
    "cause",
  );
  const collectDependencies = {
    ...profiles,
    memory,
    newId: clusteredIds(),
    clock,
    rules,
    countDecisions,
    toServiceError: stores.toServiceError,
    countTaken: meters.counter(
      "messages_taken_total",
      "Messages that were taken in, each once however often it is sent.",
    ),
    countLeftOut: meters.counter(
      "identities_left_out_total",
      "Identities that were left out of messages because they belong to another person, by field.",
      "field",
    ),
  };
  const collecting = {
    clock,
    arrivalClock,
    idempotency,
    hashIdentity,
    hashRequest,
    collect: collectMessages(collectDependencies),
    check: (batch: readonly BatchMessage[]) => checkBatch(collectDependencies, batch),
    countRejected: meters.counter("messages_rejected_total", "Messages that were rejected, by code.", "code"),
  };

  const sample = profileSampler({ ...profiles, ...opening });
  return {
    hashIdentity,
    hashRequest,
    opening,
    deciding: { rules, countDecisions, countDamaged },
    checkIdentities: () =>
      checkIdentities({
        facts: stores.facts,
        entities,
        entityKeys,
        tables,
        log,
        failpoint,
      }),
    routes: [
      ...entityRoutes({
        ...profiles,
        ...opening,
        hashIdentity,
        clock,
        rules,
        segments: stores.catalogue,
        sample,
        tables,
      }),
      ...previewRoutes({ ...profiles, catalogue: stores.catalogue, sample, tables, clock }),
      ...collectRoutes({ ...collecting, tables, limits }),
      ...segmentRoutes({
        ...collecting,
        entities,
        eventNames: eventNames(stores.keys, cache),
        countLeftOut: meters.counter(
          "call_parts_left_out_total",
          "Parts of calls of Segment's API that were left out, by code.",
          "code",
        ),
        tables,
        limits,
        log,
      }),
    ],
  };
}
