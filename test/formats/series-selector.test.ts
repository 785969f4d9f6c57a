import { expect } from "chai";
import fc from "fast-check";
import { parseSelector, SelectorError } from "../../src/formats/series-selector.js";

type Labels = Readonly<Record<string, string>>;

function selects(selector: string, labels: Labels): boolean {
  return parseSelector(selector).every(({ label, matches }) =>
    matches(Object.hasOwn(labels, label) ? (labels[label] as string) : ""),
  );
}

describe("a series selector", () => {
  const series = { __name__: "size", segment: 'a"b\\c', name: "Ü 1\n😀", group: "web.eu", "größe.1": "x" };

  for (const [selector, isSelected] of [
    ["size", true],
    [" size { } ", true],
    ["sizes", false],
    ["size{group='web.eu',}", true],
    ['{__name__="size",group!="web.eu"}', false],
    ['{segment="a\\"b\\\\c", name=`Ü 1\n😀`}', true],
    ["{name='\\u00dc\\x201\\n\\U0001F600'}", true],
    ['{group=~"web"}', false],
    ['{group=~"web\\\\.(eu|us)"}', true],
    ["{group=~`web|web.eu`}", true],
    ["{group!~`web|web.eu`, segment=~`.+`}", false],
    ["{name=~`Ü.*`}", true],
    ["{name=~`(?i)ü \\d\\s\\pS`}", true],
    ['{other="", group!=""}', true],
    ['{other=~".+"}', false],
    ['size{other!="x"}', true],
    ["{group=~`[a-z]{3}\\.e{1}u`}", true],
    ['{"size"}', true],
    ['{"sizes"}', false],
    [`{ 'size' , "group"="web.eu", }`, true],
    ['{group="web.eu","size"}', true],
    ['{"size","segment"="a"}', false],
    ['{"größe.1"="x",`gr\u00f6ße.1`!="y"}', true],
    ['size{"größe.1"=~"[xy]"}', true],
    ['{"gr\\u00f6ße.1"="x"}', true],
    ['{"__name__"="size"}', true],
    ['{"__name__"!="size","größe.1"="x"}', false],
    ['{"constructor"!="","size"}', false],
  ] as const) {
    it(`${JSON.stringify(selector)} ${isSelected ? "selects" : "does not select"} a series`, () => {
      expect(selects(selector, series)).to.equal(isSelected);
    });
  }

  const large = "has regular expressions that are too large";
  const invalid = "has a regular expression that is not valid in RE2";
  const empty = "needs a matcher that does not match the empty text";
  for (const [selector, problem] of [
    ["", "is not valid at character 1: a metric name or { is expected"],
    ["a b", "is not valid at character 3: { is expected"],
    ["{a}", "is not valid at character 3: one of = != =~ !~ is expected"],
    ["{a=b}", "is not valid at character 4: a value in quotes is expected"],
    ['{a="b" c="d"}', "is not valid at character 8: , or } is expected"],
    ['{,a="b"}', "is not valid at character 2: a label name or } is expected"],
    ['{a:b="c"}', "is not valid at character 2: a label name or } is expected"],
    ['{a="b"', "is not valid at character 7: , or } is expected"],
    ['{a="b"}[5m]', "has an unexpected character or an open quote at character 8"],
    ['{a="b"} offset', "is not valid at character 9: the end is expected"],
    ['{a="b}', "has an unexpected character or an open quote at character 4"],
    ['{a="\n"}', "has an unexpected character or an open quote at character 4"],
    ['{a="\\q"}', "has an unknown escape in the text at character 4"],
    ['{a="\\U00110000"}', "has an unknown escape in the text at character 4"],
    ['a{__name__="b"}', "names its metric twice"],
    ['a{"__name__"!="b"}', "names its metric twice"],
    ['a{"b"}', "names its metric twice"],
    ['{"a","b"}', "names its metric twice"],
    ['{"a",__name__=~"b"}', "names its metric twice"],
    ['{__name__="b","a"}', "names its metric twice"],
    ['{"a" "b"}', "is not valid at character 6: one of = != =~ !~ , } is expected"],
    ['{"a"="b" c}', "is not valid at character 10: , or } is expected"],
    ['"a"', "is not valid at character 1: a metric name or { is expected"],
    ['{"a', "has an unexpected character or an open quote at character 2"],
    ['{"a\\q"}', "has an unknown escape in the text at character 2"],
    ['{""}', empty],
    ["{}", empty],
    ['{a="",b!="c",d=~".*"}', empty],
    ["{a=~`(`}", invalid],
    ["{a=~`(?=b)`}", invalid],
    ["{a=~`(b)\\1`}", invalid],
    ["{a=~`b)|(c`}", invalid],
    [`{a=~"${"(?:".repeat(200)}${")".repeat(199)}"}`, invalid],
    [`{a=~"${"b".repeat(1_001)}"}`, large],
    ["{a=~`((b{10}){10}){10}`}", large],
    [`{a=~"${"b".repeat(501)}",b!~"${"b".repeat(500)}"}`, large],
    [`{a=~"(?i)${"[a-\u{1e921}]".repeat(10)}"}`, large],
    [`{a=~\`(?i)${"\\pL*".repeat(50)}\`}`, large],
  ] as const) {
    it(`${JSON.stringify(selector).slice(0, 40)} ${problem}`, () => {
      expect(() => parseSelector(selector)).to.throw(SelectorError, problem);
    });
  }

  it("with a pattern that takes a backtracking engine forever is matched at once", () => {
    const long = "x".repeat(256);
    for (const pattern of ["(x+x+)+y", "(x|x|xx)*y", "(.*)*(.*)*y", "((x{0,9}){0,5})*y"])
      expect(selects(`{a=~"${pattern}"}`, { a: long }), pattern).to.equal(false);
  });

  it("selects what the same conditions, written as code, select", () => {
    const text = fc.constantFrom("", "a", "ab", "b", "a.b", '"', "\\", "a\nb", "é");
    const atom = fc.constantFrom("a", "b", ".", "[ab]", "[^a]", "\\.", "\\\\", '"', "é");
    const pattern = fc
      .array(fc.tuple(atom, fc.constantFrom("", "*", "+", "?", "{2}", "|")), { maxLength: 4 })
      .map((parts) => parts.flat().join(""));
    const matcher = fc.oneof(
      fc.record({ label: fc.constantFrom("a", "b", "c"), operator: fc.constantFrom("=", "!="), value: text }),
      fc.record({ label: fc.constantFrom("a", "b", "c"), operator: fc.constantFrom("=~", "!~"), value: pattern }),
    );
    const quote = fc.constantFrom(
      (value: string) => JSON.stringify(value),
      (value: string) => `'${JSON.stringify(value).slice(1, -1)}'`,
      (value: string) => `\`${value}\``,
    );
    const blank = fc.constantFrom("", " ", "\n\t");
    const labels = fc.dictionary(fc.constantFrom("a", "b"), text);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(matcher, quote, blank, fc.boolean()), { minLength: 1, maxLength: 4 }),
        labels,
        (parts, series) => {
          const holds = (
            { label, operator, value }: { label: string; operator: string; value: string },
            of: Labels,
          ) => {
            const own = of[label] ?? "";
            const isEqual = operator.endsWith("~") ? new RegExp(`^(?:${value})$`, "su").test(own) : own === value;
            return isEqual !== operator.startsWith("!");
          };
          const inner = parts.map(([{ label, operator, value }, quoted, space, isQuoted]) =>
            [space, isQuoted ? quoted(label) : label, space, operator, space, quoted(value), space].join(""),
          );
          const selector = `{${inner.join(",")}}`;
          const isEmpty = parts.every(([one]) => holds(one, {}));
          if (isEmpty) expect(() => parseSelector(selector)).to.throw(SelectorError, empty);
          else expect(selects(selector, series), selector).to.equal(parts.every(([one]) => holds(one, series)));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
