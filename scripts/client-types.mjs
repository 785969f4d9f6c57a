// node scripts/client-types.mjs <file>: writes src/client/types.ts with each type of a schema written out, so that the
// file needs no other file of the service and no package.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isImportDeclaration, isTypeAliasDeclaration } from "typescript/unstable/ast";
import { API, NodeBuilderFlags } from "typescript/unstable/sync";
import { root } from "./set-up.mjs";

const FLAGS = NodeBuilderFlags.NoTruncation | NodeBuilderFlags.InTypeAlias | NodeBuilderFlags.MultilineObjectLiterals;

const [target] = process.argv.slice(2);
const config = join(root, "tsconfig.browser.json");
const api = new API({ cwd: root });
try {
  const { program, checker } = api.updateSnapshot({ openProject: config }).getProject(config);
  const { statements } = program.getSourceFile(join(root, "src/client/types.ts"));
  const declarations = statements.filter((statement) => !isImportDeclaration(statement));
  writeFileSync(target, declarations.map((statement) => written(statement, checker)).join(""));
} finally {
  api.close();
}

/** Returns the text of an exported declaration, in which a type without parameters is written out. */
function written(statement, checker) {
  const text = statement.getFullText();
  if (!statement.modifiers?.length) return "";
  if (!isTypeAliasDeclaration(statement) || statement.typeParameters !== undefined) return text;
  const type = checker.typeToString(checker.getTypeAtLocation(statement.name), undefined, FLAGS);
  return `${text.slice(0, statement.type.pos - statement.pos)} ${type};`;
}
