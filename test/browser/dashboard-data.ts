import { expect } from "chai";
import type { TestService } from "../support/service.js";

export const HOUR = 3_600_000;
/** The instant at which the services of these tests and the clocks of their pages start: 52 minutes into an hour. */
export const NOW = Date.UTC(2026, 10, 20, 21, 52, 10);
const DAYS = 16;

/** Three streams, three segments and an experience, with sixteen days of points up to the hour that is open. */
export async function fillService(service: TestService): Promise<void> {
  const send = async (method: string, path: string, json: unknown) => {
    const response = await service.fetch(path, { method, json });
    expect(response.status, path).to.be.within(200, 202);
  };
  for (const id of ["newsletter", "buyers", "visitors"]) await send("PUT", `/api/segment/${id}`, { name: `The ${id}` });
  const offer = { name: "Welcome", audience: "newsletter", goal: "buyers", group: "onboarding" };
  await send("PUT", "/api/experience/welcome", offer);
  const open = Math.floor(NOW / HOUR) * HOUR;
  const hours = Array.from({ length: DAYS * 24 + 1 }, (_, index) => open - (DAYS * 24 - index) * HOUR);
  const streams = ["web", "mobile", "email"];
  await send("POST", "/api/metric/points", {
    series: streams.map((dimension_id) => ({ dimension: "stream", dimension_id, dimension_type: "size" })),
    ts: hours,
    values: streams.map((_, stream) => hours.map((_, hour) => (stream + 1) * 10 + (hour % 24))),
  });
  const sized = ["newsletter", "buyers", "visitors"];
  const slots = hours.filter((ts) => ts % (2 * HOUR) === 0);
  await send("POST", "/api/metric/points", {
    series: sized.map((dimension_id) => ({ dimension: "segment", dimension_id, dimension_type: "size" })),
    ts: slots,
    values: sized.map((_, one) => slots.map((_, slot) => (one + 1) * 100 + slot)),
  });
  const reach = ["potentialreach", "actualreach"];
  await send("POST", "/api/metric/points", {
    series: ["experience.welcome", "experiencegroup.onboarding"].flatMap((name) =>
      reach.map((dimension_type) => {
        const [dimension, dimension_id] = name.split(".");
        return { dimension, dimension_id, dimension_type };
      }),
    ),
    ts: hours,
    values: [800, 200, 900, 300].map((value) => hours.map((_, hour) => value + hour)),
  });
  for (const stream of streams) {
    const messages = [1, 2, 3].map((n) => ({ email: `${stream}-${n}@example.org`, segments: ["newsletter"] }));
    await send("POST", `/collect/json/${stream}`, messages);
  }
}
