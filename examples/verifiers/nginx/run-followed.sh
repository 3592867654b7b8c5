#!/bin/sh
# ISSUER=… AUDIENCE=… PORT=… [FOLLOWER_PORT=…] [PROJECT=…] ./run-followed.sh
#
# Runs nginx, and beside it the follower, which writes the keys and reloads nginx when they change.
# Each ends with the other.
set -eu
export PUBRING_URL="${ISSUER%/v1/projects/*}"
project="${PROJECT:-${ISSUER##*/}}"
RUN=$(mktemp -d)
export RUN
cp verify.js followed.js "$RUN"
mkdir "$RUN/html"
echo accepted > "$RUN/html/accepted"
chmod -R a+rX "$RUN"
envsubst '$RUN $PORT' < nginx.conf > "$RUN/nginx.conf"
pubring jwks follow "$project" --format nginx --out "$RUN/keys.js" --once
nginx -p "$RUN" -c nginx.conf &
gateway=$!
pubring jwks follow "$project" --format nginx --out "$RUN/keys.js" --exec "kill -HUP $gateway" \
  --listen "127.0.0.1:${FOLLOWER_PORT:-8081}" &
follower=$!
. ../until-one-ends.sh
