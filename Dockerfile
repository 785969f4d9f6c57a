# Builds the npm package, and unpacks it next to the dependencies of the lock file.
FROM node:22-alpine AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
COPY tsconfig.json tsconfig.build.json tsconfig.browser.json ./
COPY scripts scripts
COPY src src
COPY config config
COPY bin bin
COPY LICENSE ./
RUN npm pack --loglevel=error \
  && mkdir /package \
  && tar -xzf entity-metrics-*.tgz --strip-components=1 -C /package \
  && npm prune --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error \
  && find node_modules -name '*.map' -delete \
  && rm -rf node_modules/@photostructure/sqlite/prebuilds/darwin-* node_modules/@photostructure/sqlite/prebuilds/win32-*

FROM node:22-alpine
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
WORKDIR /app
COPY --from=build /package ./
COPY --from=build /app/node_modules node_modules
RUN ln -s /app/bin/entity-metrics.mjs /usr/local/bin/entity-metrics \
  && mkdir -m 700 /data \
  && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The service. Commands run as: entity-metrics key list
CMD ["node", "--enable-source-maps", "dist/main.js"]
