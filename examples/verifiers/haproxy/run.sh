#!/bin/sh
# ISSUER=… AUDIENCE=… PORT=… FOLLOWER_PORT=… [PROJECT=…] ./run.sh
#
# Runs HAProxy, and beside it the follower, which writes the keys and reloads HAProxy when they change.
# Each ends with the other.
set -eu
export PROJECT="${PROJECT:-${ISSUER##*/}}" PUBRING_URL="${ISSUER%/v1/projects/*}"
export FOLLOWER_PORT="${FOLLOWER_PORT:-8081}"
run=$(mktemp -d)
# HAProxy replaces variables in values, and this one is in the name of a section.
envsubst '$PROJECT' < haproxy.cfg > "$run/haproxy.cfg"
pubring jwks follow "$PROJECT" --format haproxy --out "$run/keys.cfg" --once
haproxy -W -f "$run/keys.cfg" -f "$run/haproxy.cfg" &
gateway=$!
pubring jwks follow "$PROJECT" --format haproxy --out "$run/keys.cfg" --exec "kill -USR2 $gateway" \
  --listen "127.0.0.1:$FOLLOWER_PORT" &
follower=$!
. ../until-one-ends.sh
