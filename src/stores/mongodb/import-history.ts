import type { Db } from "mongodb";
import { type CopyRecords, compositeId, type MessageRecord, type PartTarget, type StreamCountRecord } from "../copy.js";
import {
  type ArchivedDocument,
  archivedDocument,
  historyDocuments,
  messageOf,
  type PendingDocument,
  pendingDocument,
} from "./history-documents.js";
import { type RequestDocument, requestOf } from "./idempotency.js";
import { eitherPart, importPart } from "./import-part.js";
import { type CountDocument, partOf } from "./slot-counts.js";

/** In place of the call or the settlement that would have written what was copied. */
const COPIED = "copied";

/** Messages, what was counted of them, and the requests that brought them. */
export function historyParts(db: Db): {
  readonly [P in "history" | "stream counts" | "repeatable requests"]: PartTarget<CopyRecords[P]>;
} {
  const { pending, archive } = historyDocuments(db);
  return {
    history: eitherPart(
      importPart<PendingDocument, MessageRecord>({
        collection: pending,
        documentOf: ({ pending: _, ...message }) => pendingDocument(message, COPIED),
        recordOf: (document) => ({ ...messageOf(document), pending: true }),
      }),
      importPart<ArchivedDocument, MessageRecord>({
        collection: archive,
        documentOf: ({ pending: _, ...message }) => archivedDocument(pendingDocument(message, COPIED), COPIED),
        recordOf: (document) => ({ ...messageOf({ ...document, hashes: [], append: COPIED }), pending: false }),
      }),
      (record) => record.pending,
    ),
    "stream counts": importPart<CountDocument, StreamCountRecord>({
      collection: db.collection<CountDocument>("stream_counts"),
      documentOf: ({ stream, slot, count, unsaved }) => {
        const part = partOf({ stream, slot });
        return { _id: `${part}/${COPIED}`, part, stream, slot, count, dirty: unsaved };
      },
      recordOf: ({ stream, slot, count, dirty }) => ({
        id: compositeId(stream, slot),
        stream,
        slot,
        count,
        unsaved: dirty,
      }),
      keyOf: (id) => {
        const [stream, slot] = JSON.parse(id) as [string, number];
        return `${partOf({ stream, slot })}/${COPIED}`;
      },
    }),
    "repeatable requests": importPart<RequestDocument, CopyRecords["repeatable requests"]>({
      collection: db.collection<RequestDocument>("idempotent_requests"),
      documentOf: ({ id, ...request }) => ({ _id: id, ...request, owner: null, until: 0 }),
      recordOf: requestOf,
    }),
  };
}
