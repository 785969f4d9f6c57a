import { expect } from "chai";
import { createClient } from "../../src/client/client.js";
import { readAddress } from "../../src/dashboard/address.js";
import { fetchSeries } from "../../src/dashboard/fetch-series.js";
import { messageSeries } from "../../src/dashboard/list/wanted.js";
import { pointOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";
import { serveDimensions } from "./served-dimensions.js";

const NOW = Date.UTC(2026, 10, 20, 21, 52);

describe("the series of a view", () => {
  const service = serviceOfSuite({ limits: { response_values: 250 } }, { clock: () => NOW });
  before(() => serveDimensions());

  it("are requested in halves if they are too large for one response", async () => {
    const streams = ["web", "email"];
    await writePoints(
      service,
      streams.flatMap((id) => [NOW, NOW - 10 * 86_400_000].map((ts) => pointOf("stream", id, 3, ts))),
    );
    let requests = 0;
    const client = createClient({
      url: service.url,
      key: service.key,
      fetch: (...request) => {
        requests += 1;
        return fetch(...request);
      },
    });
    const address = readAddress("?view=overview&range=7d&compare=true");
    const { signal } = new AbortController();
    const { series, refused } = await fetchSeries(streams.map(messageSeries), {
      client,
      address,
      now: NOW,
      zone: "UTC",
      signal,
    });
    expect(refused).to.deep.equal([]);
    expect(requests).to.be.above(1);
    for (const { values, before } of series)
      expect([values, before].map((own) => own?.filter((value) => value !== null))).to.deep.equal([[3], [3]]);
    expect(series.map(({ label }) => label)).to.deep.equal(streams);
  });
});
