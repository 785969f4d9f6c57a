# Builds the program, then leaves everything behind that it does not need to run.
FROM node:22-alpine AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
COPY tsconfig.json tsconfig.build.json tsconfig.browser.json ./
COPY scripts scripts
COPY src src
COPY config config
RUN npm run build \
  && npm prune --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error \
  && find node_modules -name '*.map' -delete \
  && rm -rf node_modules/@photostructure/sqlite/prebuilds/darwin-* node_modules/@photostructure/sqlite/prebuilds/win32-*

FROM node:22-alpine
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/config config
COPY --from=build /app/dist dist
RUN mkdir -m 700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The service itself; commands run as: node dist/commands/key.js list
CMD ["node", "--enable-source-maps", "dist/main.js"]
