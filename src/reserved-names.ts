/** The id that stands for every segment, where series are read. */
export const EVERY_SEGMENT = "all_segments";

/** The id of the sum over all streams in a request for series. */
export const EVERY_STREAM = "all_streams";

/** Ids that no segment and no stream has. */
export const COLLECTIVE_IDS: readonly string[] = [EVERY_SEGMENT, EVERY_STREAM];

/** Ids that no segment has: they mean something else in the path of a segment, or where a segment is named. */
export const RESERVED_SEGMENT_IDS: readonly string[] = ["sizes", ...COLLECTIVE_IDS];

/** Names that no table has: they mean something else in the path of a profile. */
export const RESERVED_TABLES: readonly string[] = ["deletestatus", "export", "segments"];

/** Names that no identity field has: one is another part of a message, the other is no name that an object can safely have. */
export const RESERVED_IDENTITY_FIELDS: readonly string[] = ["segments", "__proto__"];
