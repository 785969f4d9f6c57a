import type { VNode } from "preact";
import type { Rule } from "../../segments/rule.js";
import { conditionPieces, missingPieces, type Piece, type SegmentNames } from "./rule-words.js";

interface NodeProps {
  /** In an explanation every node has `holds`. */
  readonly node: Rule & { readonly holds?: boolean };
  readonly names: SegmentNames;
}

/** A rule with a phrase for each condition; an explanation also has ✓ or ✗. */
export function RuleTree({ node, names }: NodeProps): VNode {
  return (
    <div class="rule">
      <Tick node={node} />
      <Words node={node} names={names} />
    </div>
  );
}

function Words({ node, names }: NodeProps): VNode {
  if ("not" in node) {
    const missing = missingPieces(node.not);
    if (missing !== undefined) return <Pieces pieces={missing} />;
    return (
      <>
        <b class="bad">not</b> <Words node={node.not} names={names} />
      </>
    );
  }
  if (!("all" in node) && !("any" in node)) return <Pieces pieces={conditionPieces(node, names)} />;
  return (
    <>
      <b>{"all" in node ? "all" : "any"}</b> of
      <ul>
        {("all" in node ? node.all : node.any).map((part, index) => (
          <li key={index}>
            <RuleTree node={part} names={names} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Tick({ node: { holds } }: Pick<NodeProps, "node">): VNode | null {
  if (holds === undefined) return null;
  return (
    <span class={holds ? "good" : "bad"} role="img" aria-label={holds ? "holds" : "does not hold"}>
      {holds ? "✓ " : "✗ "}
    </span>
  );
}

function Pieces({ pieces }: { readonly pieces: readonly Piece[] }): VNode {
  return (
    <>
      {pieces.map((piece, index) =>
        typeof piece === "string" ? (
          piece
        ) : (
          <bdi key={index} class="chip">
            {piece.value}
          </bdi>
        ),
      )}
    </>
  );
}
