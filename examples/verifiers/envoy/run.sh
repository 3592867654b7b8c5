#!/bin/sh
# ISSUER=… AUDIENCE=… PORT=… JWKS_HOST=… JWKS_PORT=… ./run.sh: Envoy, which fetches the key set every 10 minutes.
set -eu
RUN=$(mktemp -d)
export CACHE_DURATION="${CACHE_DURATION:-600s}"
envsubst < envoy.yaml > "$RUN/envoy.yaml"
exec .venv/bin/envoy --disable-hot-restart --log-level error -c "$RUN/envoy.yaml"
