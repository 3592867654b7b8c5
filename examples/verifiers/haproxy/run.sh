#!/bin/sh
# ISSUER=… AUDIENCE=… PORT=… ./run.sh
#
# Runs HAProxy, and beside it the follower, which writes the keys and reloads HAProxy when they change.
set -eu
export PROJECT="${ISSUER##*/}" PUBRING_URL="${ISSUER%/v1/projects/*}"
run=$(mktemp -d)
# HAProxy replaces variables in values, and this one is in the name of a section.
envsubst '$PROJECT' < haproxy.cfg > "$run/haproxy.cfg"
pubring jwks follow "$PROJECT" --format haproxy --out "$run/keys.cfg" --once
haproxy -W -f "$run/keys.cfg" -f "$run/haproxy.cfg" &
exec pubring jwks follow "$PROJECT" --format haproxy --out "$run/keys.cfg" --exec "kill -USR2 $!"
