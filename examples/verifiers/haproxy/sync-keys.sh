#!/bin/sh
# ISSUER=… AUDIENCE=… PORT=… ./sync-keys.sh
#
# Runs HAProxy with the active keys of a Pubring project and reloads it when they change: Pubring
# holds the request for the key set until then. While Pubring is away, HAProxy keeps the keys it has.
# Requires curl and jq.
set -eu
here=$(dirname "$0")
folder=$(mktemp -d)
haproxy= curl=
trap 'kill $haproxy $curl 2> /dev/null || :; rm -rf "$folder"' EXIT
trap 'exit 0' INT TERM

# Writes a PEM file for each active RS256 key, and the configuration that uses them. Fails if one
# cannot be read: it was deactivated meanwhile, or Pubring is away.
write_configuration() {
  number=0
  jq -r '.keys[] | select(.alg == "RS256").kid | select(test("^[A-Za-z0-9._~:/+=@-]+$")) | "\(.) \(@uri)"' \
    "$folder/jwks.json" |
    while read -r kid encoded; do
      number=$((number + 1))
      pem=$folder/$number.pem
      curl -fsS "$ISSUER/.well-known/$encoded.pem" > "$pem" || exit 1
      echo "    http-request set-var(txn.verified) http_auth_bearer,jwt_verify(txn.alg,\"$pem\")" \
        "if { var(txn.kid) -m str -- $kid } { var(txn.alg) -m str RS256 }"
    done > "$folder/keys.cfg" || return 1
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
  if ! curl -fsS -D "$folder/headers" "$ISSUER/.well-known/jwks.json" > "$folder/jwks.json" ||
    ! write_configuration; then
    sleep 1
    continue
  fi
  etag=$(tr -d '\r' < "$folder/headers" | sed -n 's/^[Ee][Tt]ag: //p')
  if [ -n "$haproxy" ]; then
    kill -USR2 "$haproxy"
  else
    haproxy -W -f "$folder/haproxy.cfg" &
    haproxy=$!
  fi
  until changed "$etag"; do sleep 0.2; done
done
