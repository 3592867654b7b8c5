#!/bin/sh
# ISSUER=… AUDIENCE=… PORT=… [FOLLOWER_PORT=…] [PROJECT=…] ./run-followed.sh
#
# Runs Envoy, and beside it the follower, which replaces Envoy's listener when keys change. Each ends with
# the other.
set -eu
export PUBRING_URL="${ISSUER%/v1/projects/*}"
RUN=$(mktemp -d)
export RUN
envsubst < envoy-lds.yaml > "$RUN/envoy.yaml"
envsubst < listeners.yaml > "$RUN/template.yaml"
set -- jwks follow "${PROJECT:-${ISSUER##*/}}" --format envoy-lds --template "$RUN/template.yaml" \
  --out "$RUN/listeners.yaml"
pubring "$@" --once
.venv/bin/envoy --disable-hot-restart --drain-time-s 1 --log-level error -c "$RUN/envoy.yaml" &
gateway=$!
pubring "$@" --listen "127.0.0.1:${FOLLOWER_PORT:-8081}" &
follower=$!
. ../until-one-ends.sh
