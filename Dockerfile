# The sluice program alone on Debian 12.
FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends libhiredis-dev zlib1g-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY Package.swift ./
COPY Sources ./Sources
COPY Tests ./Tests
COPY Benchmarks ./Benchmarks
RUN swift build -c release --product sluice --static-swift-stdlib && install -D .build/release/sluice /out/sluice

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libhiredis0.14 libstdc++6 zlib1g && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home sluice
COPY --from=build /out/sluice /usr/local/bin/sluice
USER sluice
CMD ["sluice", "worker"]
