import { expect } from "chai";
import type { TestService } from "./service.js";

export interface CatalogueItem {
  readonly id: string;
  readonly segments: readonly string[];
}

export interface CatalogueAnswer<Data = CatalogueItem> {
  readonly status: number;
  readonly message: string;
  readonly data: Data;
  readonly meta: { readonly next: string | null };
  readonly errors: readonly { readonly code: string; readonly path: string; readonly message: string }[];
}

/** Requests to the catalogue of a service. */
export function catalogueOf(service: TestService) {
  const ask = async (method: string, path: string, json?: unknown) => {
    const response = await service.fetch(path, { method, ...(json === undefined ? {} : { json }) });
    return { status: response.status, body: (await response.json()) as CatalogueAnswer };
  };
  return {
    ask,
    /** The data of a request that must succeed. */
    async data(method: string, path: string, json?: unknown) {
      const { status, body } = await ask(method, path, json);
      expect(body).to.include({ status: 200, message: "success" });
      expect(status).to.equal(200);
      return body.data;
    },
    /** The status and first issue of a request that must be refused. */
    async refusal(method: string, path: string, json?: unknown) {
      const { status, body } = await ask(method, path, json);
      expect(body.data).to.equal(null);
      expect(body.status).to.equal(status);
      return { status, code: body.errors[0]?.code, path: body.errors[0]?.path };
    },
  };
}
