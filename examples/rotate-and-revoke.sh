#!/bin/sh
# Replaces a signing key, and then a leaked one, with openssl and curl (7.76 or later) alone: the steps of
# docs/rotating-keys.md as requests. PUBRING_API_KEY has the role writer for the project default.
#
#   PUBRING_URL=http://127.0.0.1:8080 PUBRING_API_KEY=pubring_… TOKEN_LIFETIME=300 sh rotate-and-revoke.sh
set -eu
project=$PUBRING_URL/v1/projects/default
keys=$project/jwt-keys

# call METHOD ADDRESS [JSON]: one request; an error is shown and ends the script
call() {
  curl -sS --fail-with-body -X "$1" "$2" -H "X-Api-Key: $PUBRING_API_KEY" \
    -H 'Content-Type: application/json' -d "${3-}"
}

# member NAME: the value of a member of the JSON on standard input
member() {
  sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"
}

# register NAME PRIVATE_KEY_FILE: registers the public half and prints its kid
register() {
  pem=$(openssl pkey -in "$2" -pubout | awk '{printf "%s\\n", $0}')
  call POST "$keys" "{\"name\": \"$1\", \"algorithm\": \"RSA\", \"publicKeyPem\": \"$pem\"}" | member kid
}

make_key() {
  openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$1" 2> /dev/null
}

# wait_until_converged KID: returns when every verifier that honors the cache headers knows the key's state
wait_until_converged() {
  converged=$(call GET "$keys/$1" | member convergedTime)
  until expr "$(date -u +%Y-%m-%dT%H:%M:%S.000Z)" '>' "$converged" > /dev/null; do sleep 1; done
}

base64url() {
  openssl base64 -A | tr '+/' '-_' | tr -d '='
}

issuer=$PUBRING_URL/v1/projects/$(call GET "$project" | member id)

# sign PRIVATE_KEY_FILE KID: a token, as your service makes it with a JWT library
sign() {
  now=$(date +%s)
  header=$(printf '{"alg":"RS256","typ":"JWT","kid":"%s"}' "$2" | base64url)
  claims=$(printf '{"iss":"%s","sub":"alice","iat":%s,"exp":%s}' "$issuer" "$now" $((now + TOKEN_LIFETIME)) | base64url)
  signature=$(printf '%s' "$header.$claims" | openssl dgst -sha256 -sign "$1" -binary | base64url)
  printf '%s.%s.%s\n' "$header" "$claims" "$signature"
}

# check NAME TOKEN: asks Pubring why a token would or would not verify
check() {
  printf '%s ' "$1"
  call POST "$project/token-checks" "{\"token\": \"$2\"}"
  echo
}

# The key in use.
make_key old.pem
old=$(register 'orders, spring' old.pem)
check 'the key in use:' "$(sign old.pem "$old")"

# Rotate: register the new key, let every verifier know it, switch the signer.
make_key new.pem
new=$(register 'orders, autumn' new.pem)
wait_until_converged "$new"
check 'the new key:' "$(sign new.pem "$new")"

# When the last token of the old key has ended, deactivate it. It leaves the key set within a second, and
# {"active": true} would bring it back as fast.
sleep "${WAIT:-$TOKEN_LIFETIME}"
call PATCH "$keys/$old" '{"active": false}' > old.json

# Delete it when every verifier knows that.
wait_until_converged "$old"
call DELETE "$keys/$old"

# The new key has leaked: register another one and sign with it at once.
make_key next.pem
next=$(register 'orders, after the leak' next.pem)

# A held request, as a live verifier sends it, learns of the deactivation within a second.
jwks=$project/.well-known/jwks.json
etag=$(curl -sS -o /dev/null -D - "$jwks" | tr -d '\r' | awk 'tolower($1) == "etag:" {print $2}')
curl -sS "$jwks" -H "If-None-Match: $etag" -H 'Prefer: wait=25' > live.json &
leaked=$(sign new.pem "$new")
call PATCH "$keys/$new" '{"active": false}' > leaked.json
wait
check 'the leaked key:' "$leaked"
check 'the next key:' "$(sign next.pem "$next")"
