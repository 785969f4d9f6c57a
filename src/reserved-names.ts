/** The id that represents every segment in reads of series. */
export const EVERY_SEGMENT = "all_segments";

/** The id of the sum over all streams in a request for series. */
export const EVERY_STREAM = "all_streams";

/** Ids that neither segments nor streams can have. */
export const COLLECTIVE_IDS: readonly string[] = [EVERY_SEGMENT, EVERY_STREAM];

/** Maximum characters of the name of a stream. */
export const STREAM_NAME_LENGTH = 128;

/** Pattern of the name of a stream. */
export const streamNamePattern = `^(?!(?:${COLLECTIVE_IDS.join("|")})$)[A-Za-z0-9_.-]{1,${STREAM_NAME_LENGTH}}$`;

/** The pattern as text. */
export const streamNameRule = `A stream name must be 1 to ${STREAM_NAME_LENGTH} letters, digits, _ . or -, and not ${COLLECTIVE_IDS.join(" or ")}`;

/**
 * Pattern of ids of series, segments, experiences and marks. Stores do not preserve control characters and unpaired
 * surrogates.
 */
export const idPattern = "^[^\\p{Cc}\\p{Cs}]{0,255}[^\\p{Cc}\\p{Cs}\\\\]$";

const ID = new RegExp(idPattern, "u");

/** Returns whether a text matches the pattern. */
export function isDimensionId(id: string): boolean {
  return ID.test(id);
}

/** The pattern as text. */
export const dimensionIdRule = "1 to 256 characters, without control characters, not ending in a backslash";

/** Ids that segments cannot have: they have another meaning in the path of a segment, or where a segment is named. */
export const RESERVED_SEGMENT_IDS: readonly string[] = ["sizes", "preview", ...COLLECTIVE_IDS];

/** The ids that segments cannot have, as text. */
export const reservedSegmentIds = `sizes, preview, ${COLLECTIVE_IDS.join(" or ")}`;

/** Names that tables cannot have: they have another meaning in the path of a profile. */
export const RESERVED_TABLES: readonly string[] = ["deletestatus", "export", "segments"];

/** Names that identity fields cannot have: one is another part of a message, the other is unsafe as an object key. */
export const RESERVED_IDENTITY_FIELDS: readonly string[] = ["segments", "__proto__"];
