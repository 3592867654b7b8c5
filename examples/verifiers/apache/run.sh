#!/bin/sh
# ISSUER=… AUDIENCE=… PORT=… ./run.sh
#
# Runs Apache, and beside it the follower, which writes the keys and reloads Apache when they change. Each
# ends with the other.
set -eu
export PUBRING_URL="${ISSUER%/v1/projects/*}"
RUN=$(mktemp -d)
export RUN
mkdir "$RUN/html" "$RUN/keys"
echo accepted > "$RUN/html/index.html"
chmod -R a+rX "$RUN"
envsubst '$RUN $PORT $ISSUER $AUDIENCE' < httpd.conf > "$RUN/httpd.conf"
set -- jwks follow "${ISSUER##*/}" --format pem-dir --algorithm RS256 --out "$RUN/keys" \
  --exec ./use-keys.sh
pubring "$@" --once
apache2 -D FOREGROUND -f "$RUN/httpd.conf" &
gateway=$!
pubring "$@" &
follower=$!
. ../until-one-ends.sh
