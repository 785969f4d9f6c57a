import type { Db } from "mongodb";
import type { IdentityHash } from "../../entities/identity.js";
import type { Suppression } from "../../entities/suppression.js";
import { oneOf } from "./collection.js";
import { deletionsOf } from "./ledger-document.js";

/** Who must not come back, from the requests of the ledger themselves. */
export function mongoSuppression(db: Db): Suppression {
  const deletions = deletionsOf(db);

  return {
    async cutOffs(hashes) {
      const asked = new Set(hashes);
      const newest = new Map<IdentityHash, number>();
      if (asked.size === 0) return newest;
      const over = deletions.find({ "suppressed.hash": oneOf([...asked]) }).project({ _id: 0, suppressed: 1 });
      for (const { suppressed } of (await over.toArray()) as Suppressed[]) {
        for (const { hash, cutOff } of suppressed) {
          if (asked.has(hash)) newest.set(hash, Math.max(cutOff, newest.get(hash) ?? -Infinity));
        }
      }
      return newest;
    },

    async erased(ids) {
      const asked = new Set(ids);
      if (asked.size === 0) return new Set();
      const over = deletions.find({ entities: oneOf([...asked]) }).project({ _id: 0, entities: 1 });
      const named = ((await over.toArray()) as { entities: string[] }[]).flatMap(({ entities }) => entities);
      return new Set(named.filter((id) => asked.has(id)));
    },
  };
}

interface Suppressed {
  readonly suppressed: readonly { readonly hash: IdentityHash; readonly cutOff: number }[];
}
