# One image with the four programs: CMD says which.  docker-compose.yml shows how they belong together.
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev cmake ninja-build pkg-config \
	libpq-dev libhiredis-dev libjansson-dev libevent-dev libssl-dev libjose-dev libcurl4-openssl-dev
COPY . /src
WORKDIR /src
RUN cmake --preset package && cmake --build --preset package && strip build/package/bin/*

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libcurl4 libevent-core-2.1-7 \
	libevent-extra-2.1-7 libhiredis0.14 libjansson4 libjose0 libpq5 libssl3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --user-group --no-create-home --home-dir /nonexistent \
	--shell /usr/sbin/nologin umavez
COPY --from=build /src/build/package/bin/ /usr/local/bin/
USER 10001:10001
# Each service has a container, and a network, of its own.
ENV UMAVEZ_ADMIN_LISTEN=0.0.0.0:9101
EXPOSE 8080 9101
HEALTHCHECK --interval=5s --timeout=10s --start-period=30s --retries=3 CMD ["umavez", "health"]
CMD ["umavez", "--help"]
