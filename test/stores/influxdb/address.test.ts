import { expect } from "chai";
import { StartError } from "../../../src/errors.js";
import { influxAddress } from "../../../src/stores/influxdb/connection.js";

const read = (url: string, token: string | null = "secret") =>
  influxAddress({ metrics: { url, token, retention: null } });

describe("the URL of an InfluxDB", () => {
  it("names server, organization and bucket, and the token when the settings do not", () => {
    const url = "influxdb://host:8086/?org=my%20org&bucket=b%2F1";
    expect(read(url)).to.deep.equal({ url: "http://host:8086", org: "my org", bucket: "b/1", token: "secret" });
    expect(read(`${url}&token=of-the-url`, null).token).to.equal("of-the-url");
    expect(read(`${url}&token=of-the-url`).token).to.equal("secret");
    expect(read("influxdbs://[::1]:9/influx/?org=o&bucket=b").url).to.equal("https://[::1]:9/influx");
    expect(read("influxdbs://cloud.example?org=o&bucket=b").url).to.equal("https://cloud.example");
  });

  const refused: [string, string | null, RegExp][] = [
    ["influxdb://host/?bucket=b", "secret", /has no org/],
    ["influxdb://host/?org=o&bucket=", "secret", /has no bucket/],
    ["influxdb://host/?org=o&bucket=b", null, /has no token/],
    ["influxdb://host/?org=o&bucket=b", "sec\nret", /INFLUX_TOKEN is wrong/],
    ["influxdb://host/?org=o&bucket=b", "geheimnis-€", /INFLUX_TOKEN is wrong/],
    ["influxdb://host/?org=o&bucket=b&tokne=secret", "secret", /besides org, bucket and token/],
    ["influxdb://user:secret@host/?org=o&bucket=b", "secret", /user or a password/],
    ["influxdb://host:port/?org=o&bucket=b&token=secret", null, /is not such a URL/],
    ["influxdb:", "secret", /is not such a URL/],
    ["influxdb:///?org=o&bucket=b", "secret", /is not such a URL/],
  ];
  for (const [url, token, words] of refused) {
    it(`is refused in one line without the secret: ${JSON.stringify(url)}, token ${JSON.stringify(token)}`, () => {
      const refuse = () => read(url, token);
      expect(refuse).to.throw(StartError, words);
      expect(refuse).to.throw(/^(?!.*(sec.?ret|geheim))[^\n]+$/);
    });
  }
});
