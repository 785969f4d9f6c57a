import { expect } from "chai";
import type { Alert } from "../../src/client/client.js";
import {
  alertGroups,
  alertName,
  alertPlace,
  alertSentence,
  limitText,
  measuredText,
} from "../../src/dashboard/views/alert-words.js";
import { serveDimensions } from "./served-dimensions.js";

const alert = (over: Partial<Alert>): Alert => ({
  id: `${over.since} ${over.dimension_id}`,
  name: "a rule",
  dimension: "stream",
  dimension_id: "web",
  dimension_type: "size",
  dimension_name: null,
  condition: "falls_by",
  value: 10,
  over: "7d",
  since: "2026-11-28T06:00:00.000Z",
  measured: 12.34,
  resolved_at: null,
  notified: true,
  ...over,
});

describe("the words of an alert", () => {
  before(() => serveDimensions());
  const buyers = { dimension: "segment", dimension_id: "b", dimension_name: "Buyers" };
  const welcome = {
    dimension: "experience",
    dimension_id: "w",
    dimension_name: "Welcome",
    dimension_type: "conversionrate",
  };
  for (const [over, sentence, second] of [
    [{}, "web fell by 12.3 %, the limit is 10 %", "2 streams fell by 10 % or more"],
    [
      { ...buyers, condition: "below", value: 1_000, measured: 87 },
      "Buyers at 87 members, below 1,000 members",
      "2 segments below 1,000 members",
    ],
    [
      { ...welcome, condition: "below", value: 0.02, measured: 0.0142 },
      "Welcome at 1.4 %, below 2 %",
      "2 experiences below 2 %",
    ],
    [
      { ...welcome, dimension: "experiencegroup", dimension_name: null, condition: "above", value: 0.5, measured: 0.6 },
      "w at 60 %, above 50 %",
      "2 groups of experiences above 50 %",
    ],
    [
      { ...buyers, dimension_type: "left", condition: "above", value: 5, measured: 9 },
      "Buyers, left at 9 people, above 5 people",
      "2 segments, left above 5 people",
    ],
    [
      { dimension_id: "all_streams", condition: "silent_for", value: null, measured: null, over: "2h" },
      "all streams silent for 2 h or longer",
      "2 streams silent for 2 h or longer",
    ],
  ] as const) {
    it(`are “${sentence}” of one, and “${second}” of two`, () => {
      const one = alert(over);
      expect(alertSentence({ alerts: [one] })).to.equal(sentence);
      expect(alertSentence({ alerts: [one, one] })).to.equal(second);
    });
  }

  it("are grouped by rule, the rule that fired last first, and its worst series first", () => {
    const at = (hour: number) => `2026-11-28T0${hour}:00:00.000Z`;
    const below = { name: "low", condition: "below", measured: 3 } as const;
    const silent = { name: "silent", condition: "silent_for", value: null, measured: null, over: "2h" } as const;
    const groups = alertGroups([
      alert({ ...silent, dimension_id: "new", since: at(3) }),
      alert({ dimension_id: "a", since: at(1) }),
      alert({ dimension_id: "b", since: at(5), measured: 62 }),
      alert({ dimension_id: "changed", since: at(4), value: 20 }),
      alert({ ...below, dimension_id: "c", since: at(7) }),
      alert({ ...below, dimension_id: "d", since: at(6), measured: 1 }),
      alert({ ...silent, dimension_id: "old", since: at(2) }),
    ]);
    expect(groups.map(({ alerts }) => alerts.map(alertName))).to.deep.equal([
      ["d", "c"],
      ["b", "a"],
      ["changed"],
      ["old", "new"],
    ]);
  });

  it("lead to the page of the series, and to Explore if it has none", () => {
    expect(alertPlace(alert({}))).to.deep.equal({ view: "stream", id: "web" });
    expect(alertPlace(alert({ ...welcome, dimension: "experiencegroup" }))).to.deep.equal({ view: "group", id: "w" });
    expect(alertPlace(alert({ dimension_id: "all_streams" }))).to.deep.equal({
      view: "explore",
      series: ["stream.all_streams.size"],
    });
  });

  it("have a dash where nothing was measured", () => {
    const silent = alert({ condition: "silent_for", value: null, measured: null, over: "31d" });
    expect([measuredText(silent), limitText(silent)]).to.deep.equal(["–", "silent for 31 d or longer"]);
  });
});
