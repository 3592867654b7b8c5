#!/bin/sh
# RUN=… ./use-keys.sh: makes Apache use the keys that the follower has written.
set -eu
for file in "$RUN"/keys/*.pem; do
  if [ -e "$file" ]; then
    echo "OIDCOAuthVerifyCertFiles $(basename "$file" .pem)#$file"
  fi
done > "$RUN/keys.conf"
if [ -e "$RUN/httpd.pid" ]; then
  kill -USR1 "$(cat "$RUN/httpd.pid")"
fi
