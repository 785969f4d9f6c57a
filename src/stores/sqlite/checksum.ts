import { crc32 } from "node:zlib";

/**
 * Unsigned CRC-32 of a row's position and bytes. It detects any damage of up to 32 neighbouring bits. SQLite has no
 * checksums in the file itself.
 */
export function checksumOf(id: number, first: number, bytes: Uint8Array): number {
  place[0] = id;
  place[1] = first;
  return crc32(bytes, crc32(placeBytes));
}

/** Reused, as a query may read 100,000 rows. */
const place = new Float64Array(2);
const placeBytes = new Uint8Array(place.buffer);

/** Stored form of a checksum: a signed 32-bit integer takes 4 bytes, an unsigned one up to 6. */
export function signed(checksum: number): number {
  return checksum | 0;
}

/** Selects the column `sum`, unsigned. Without the mask the driver throws on a damaged value of more than 53 bits. */
export const CHECKSUM = "sum & 0xffffffff AS sum";
