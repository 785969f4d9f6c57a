/** Stages of the service itself; any other stage is a remote target with a name of its own. */
const stages: Readonly<Record<string, string>> = {
  profile: "live profile",
  "membership-index": "segment memberships",
  "history-archive": "message history",
  "hook-outbox": "changes for hooks",
  verified: "verification",
  key: "destruction of the key",
  complete: "complete",
};

/** Returns the name of a stage or target for people. */
export const stageName = (stage: string): string => stages[stage] ?? `${stage} (remote)`;
