import type { VNode } from "preact";
import { requestOf, type WantedSeries } from "../fetch-series.js";
import { Code } from "../page/code.js";
import { windowOf } from "../time-window.js";
import type { Page } from "../view.js";

/** The same values by the API. */
export function ApiCall({ wanted, page }: { readonly wanted: readonly WantedSeries[]; readonly page: Page }): VNode {
  return (
    <details class="card">
      <summary>The API call</summary>
      <Code text={curlOf(wanted, page)} />
    </details>
  );
}

/** A command that requests the series. A window that ends now becomes a range, so that the command stays current. */
export function curlOf(wanted: readonly WantedSeries[], page: Page): string {
  const { address } = page;
  const base = new URL(".", location.href).href;
  const requests = wanted.map((one) => {
    const { startdate, enddate, ...request } = requestOf(one, windowOf(page, one.dimension), address);
    return address.from === undefined ? { ...request, range: address.range } : { ...request, startdate, enddate };
  });
  const body = JSON.stringify(requests).replaceAll("'", "'\\''");
  return `curl ${base}api/metric -H "Authorization: $KEY" -H 'Content-Type: application/json' -d '${body}'`;
}
