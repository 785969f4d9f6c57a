import { expect } from "chai";
import { createClient } from "../../src/client/client.js";
import { readAddress } from "../../src/dashboard/address.js";
import { fetchSeries } from "../../src/dashboard/fetch-series.js";
import { messageSeries } from "../../src/dashboard/list/wanted.js";
import { pointOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";
import { serveDimensions } from "./served-dimensions.js";

const NOW = Date.UTC(2026, 10, 20, 21, 52);
const STREAMS = ["web", "email"];

describe("the series of a view", () => {
  const service = serviceOfSuite({ limits: { response_values: 250 } }, { clock: () => NOW });
  before(async () => {
    serveDimensions();
    const at = [NOW, NOW - 10 * 86_400_000, NOW - 370 * 86_400_000];
    await writePoints(
      service,
      STREAMS.flatMap((id) => at.map((ts) => pointOf("stream", id, 3, ts))),
    );
  });

  /** Fetches both streams, with the number of series of each request. */
  async function fetched(search: string) {
    const requests: number[] = [];
    const client = createClient({
      url: service.url,
      key: service.key,
      fetch: (...request) => {
        requests.push(JSON.parse(String(request[1]?.body)).length);
        return fetch(...request);
      },
    });
    const viewed = { address: readAddress(search), now: NOW, zone: "UTC" } as const;
    const { signal } = new AbortController();
    return { requests, ...(await fetchSeries(STREAMS.map(messageSeries), { client, signal, ...viewed })) };
  }

  it("are requested in halves if they are too large for one response", async () => {
    const { requests, series, refused } = await fetched("?view=overview&range=7d&compare=true");
    expect([requests[0], requests.length > 1, refused]).to.deep.equal([6, true, []]);
    for (const { values, before } of series)
      expect([values, before].map((own) => own?.filter((value) => value !== null))).to.deep.equal([[3], [3]]);
    expect(series.map(({ label }) => label)).to.deep.equal(STREAMS);
  });

  it("of a long window are requested apart from the window before, so that none is refused first", async () => {
    const { requests, series } = await fetched("?view=overview&range=52w&compare=true");
    expect(requests).to.deep.equal([2, 4]);
    for (const { values, before } of series)
      expect([values, before].map((own) => own?.filter((value) => value !== null))).to.deep.equal([[3, 3], [3]]);
    expect((await fetched("?view=overview&range=52w")).requests).to.deep.equal([2]);
  });
});
