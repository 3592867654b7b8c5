#!/bin/sh
# ISSUER=… AUDIENCE=… PORT=… ./run.sh: nginx, which fetches the keys again when their max-age is over.
set -eu
RUN=$(mktemp -d)
export RUN
cp verify.js fetched.js "$RUN"
mkdir "$RUN/html"
echo accepted > "$RUN/html/accepted"
chmod -R a+rwX "$RUN"
envsubst '$RUN $PORT $ISSUER' < nginx-fetch.conf > "$RUN/nginx.conf"
exec nginx -p "$RUN" -c nginx.conf
