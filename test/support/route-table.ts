import { type Scope, scopes } from "../../src/keys/api-key.js";
import type { DataBound } from "../../src/keys/bounds.js";

/** Effect of a bound on a route: requests outside it are refused, the response is trimmed, or nothing changes. */
export type Treatment = Readonly<Partial<Record<DataBound, "refused" | "trimmed" | "unaffected">>>;

export interface ExpectedRoute {
  readonly scopes: readonly Scope[] | "keyless";
  /** Absent where no key with bounds of data can have the scope. */
  readonly treatment: Treatment | undefined;
  /** Whether an unknown query parameter does no harm, and is accepted: single reads, and pages. */
  readonly isOpen: boolean;
}

const open = "open";
const page = ["keyless", undefined, open] as const;
const refused = "refused";
const unaffected = "unaffected";

type Row = readonly [scopes: ExpectedRoute["scopes"], treatment?: Treatment | undefined, unknown?: typeof open];

const rows: Readonly<Record<string, Row>> = {
  "GET /": page,
  "GET /dashboard": page,
  "GET /dashboard/:file": page,
  "POST /dashboard/sign-in/:code": ["keyless"],
  "GET /docs": page,
  "GET /docs/:file": page,
  "GET /health": page,
  "GET /ping": page,
  "GET /ready": page,
  "GET /openapi.json": page,
  "GET /.well-known/jwks.json": page,
  "GET /metrics": [["metric:read"], {}, open],
  "GET /api/key": [scopes, { stream: unaffected, fields: unaffected, by: unaffected }, open],
  "GET /api/metric": [["metric:read"], {}],
  "POST /api/metric": [["metric:read"], {}],
  "POST /api/metric/points": [["metric:write"], { stream: refused }],
  "POST /api/v2/write": [["metric:write"], { stream: refused }],
  "GET /api/entity/:table/:fieldname/:fieldval": [["entity:read"], { fields: "trimmed", by: refused }, open],
  "GET /api/entity/:table/:fieldval": [["entity:read"], { fields: "trimmed", by: refused }, open],
  "GET /api/me/:fieldname/:fieldval": [["entity:read"], { fields: "trimmed", by: refused }, open],
  "GET /api/entity/:table/:fieldname/:fieldval/segments": [["entity:read"], { fields: refused, by: refused }, open],
  "DELETE /api/entity/:table/:fieldname/:fieldval": [["entity:delete"]],
  "GET /api/entity/deletestatus/:request_id": [
    ["entity:delete", "entity:read"],
    { fields: unaffected, by: unaffected },
    open,
  ],
  "GET /api/deletion": [["entity:delete", "admin"]],
  "GET /api/deletion/:request_id": [["entity:delete", "admin"], undefined, open],
  "POST /api/deletion/:request_id/retry": [["admin"]],
  "POST /api/deletion/retry": [["admin"]],
  "GET /api/deletion/:request_id/receipt": [["entity:delete"], undefined, open],
  "POST /api/deletion": [["entity:delete"]],
  "POST /api/deletion/preview": [["entity:delete"]],
  "GET /api/table": [["entity:delete"], undefined, open],
  "POST /api/entity/export": [["entity:export"]],
  "POST /api/segment/:id/members": [["entity:export"]],
  "GET /api/stream": [["metric:read"], {}],
  "GET /federate": [["metric:read"], {}],
  "GET /api/alert": [["metric:read"], {}],
  "GET /api/hook": [["metric:read"], {}, open],
  "GET /api/series": [["metric:read"], {}],
  "POST /collect/json/:stream": [["entity:write"], { stream: refused }],
  ...Object.fromEntries(
    ["batch", "b", "identify", "i", "track", "t", "page", "p", "screen", "s", "group", "g", "alias", "a"].map(
      (name): [string, Row] => [`POST /v1/${name}`, [["entity:write"], { stream: unaffected }, open]],
    ),
  ),
  "GET /api/segment": [["metric:read"], {}],
  "GET /api/segment/sizes": [["metric:read"], {}],
  "GET /api/segment/:id": [["metric:read"], {}, open],
  "PUT /api/segment/:id": [["admin"]],
  "DELETE /api/segment/:id": [["admin"]],
  "POST /api/segment/preview": [["admin"]],
  "GET /api/attribute": [["entity:read"], { fields: refused, by: unaffected }],
  "GET /api/experience": [["metric:read"], {}],
  "GET /api/experience/:id": [["metric:read"], {}, open],
  "PUT /api/experience/:id": [["admin"]],
  "DELETE /api/experience/:id": [["admin"]],
  "GET /api/mark": [["metric:read"], {}],
  "GET /api/mark/:id": [["metric:read"], {}, open],
  "PUT /api/mark/:id": [["metric:write"], { stream: refused }],
  "DELETE /api/mark/:id": [["metric:write"], { stream: refused }],
};

/** All routes of the service, so that a changed scope, bound or query fails a test. */
export const expectedRoutes: ReadonlyMap<string, ExpectedRoute> = new Map(
  Object.entries(rows).map(([name, [scopes, treatment, unknown]]) => [
    name,
    { scopes, treatment, isOpen: unknown === open },
  ]),
);
