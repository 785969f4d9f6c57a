// The limit: Koa that reads what is sent and answers with a body made before, `?size=` bytes long. Nothing on Koa can be cheaper.
import Koa from "koa";

const bodies = new Map();
const app = new Koa();
app.use(async (ctx) => {
  for await (const _ of ctx.req);
  if (ctx.get("If-None-Match") !== "") {
    ctx.status = 304;
    return;
  }
  ctx.type = "application/json";
  ctx.body = bodyOf(Number(new URLSearchParams(ctx.querystring).get("size") ?? 0));
});
const server = app.listen(0, "127.0.0.1", () => process.send({ listens: `http://127.0.0.1:${server.address().port}` }));
// A connection that it closed could be one that a request is on its way over.
server.keepAliveTimeout = 0;
process.once("disconnect", () => process.exit(0));
process.once("SIGTERM", () => process.exit(0));

function bodyOf(size) {
  const body = bodies.get(size) ?? Buffer.alloc(size, " ");
  bodies.set(size, body);
  return body;
}
