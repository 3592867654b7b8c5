#!/bin/sh
# ISSUER=… AUDIENCE=… PUBRING_API_KEY=… PORT=… ./sync-keys.sh
#
# Runs HAProxy with the active keys of a Pubring project and reloads it when they change: Pubring
# holds the request for the key set until then. The API key needs the role reader. Requires curl and
# jq.
set -eu
here=$(dirname "$0")
folder=$(mktemp -d)
haproxy= curl=
trap 'kill $haproxy $curl 2> /dev/null || :; rm -rf "$folder"' EXIT
trap 'exit 0' INT TERM

# Writes a PEM file for each active RS256 key, and the configuration that uses them.
write_configuration() {
  curl -fsS "$ISSUER/jwt-keys?active=true" -H "X-Api-Key: $PUBRING_API_KEY" > "$folder/keys.json"
  jq -r '.[] | select(.algorithm == "RSA" or .algorithm == "RS256") | .id' "$folder/keys.json" |
    while read -r kid; do
      pem=$folder/$kid.pem
      jq -r --arg kid "$kid" '.[] | select(.id == $kid).publicKeyPem' "$folder/keys.json" > "$pem"
      echo "    http-request set-var(txn.verified) http_auth_bearer,jwt_verify(txn.alg,\"$pem\")" \
        "if { var(txn.kid) -m str $kid } { var(txn.alg) -m str RS256 }"
    done > "$folder/keys.cfg"
  sed "/# KEYS/r $folder/keys.cfg" "$here/haproxy.cfg" > "$folder/haproxy.cfg"
}

# Succeeds when the key set no longer has this ETag; fails after a minute without a change.
changed() {
  curl -sS -o /dev/null -w '%{http_code}' "$ISSUER/.well-known/jwks.json" \
    -H "If-None-Match: $1" -H 'Prefer: wait=60' > "$folder/status" &
  curl=$!
  wait "$curl" && [ "$(cat "$folder/status")" = 200 ]
}

while :; do
  etag=$(curl -fsS -o /dev/null -D - "$ISSUER/.well-known/jwks.json" | tr -d '\r' | sed -n 's/^[Ee][Tt]ag: //p')
  write_configuration
  if [ -n "$haproxy" ]; then
    kill -USR2 "$haproxy"
  else
    haproxy -W -f "$folder/haproxy.cfg" &
    haproxy=$!
  fi
  until changed "$etag"; do sleep 0.2; done
done
