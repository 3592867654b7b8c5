"""ISSUER=... AUDIENCE=... python verify.py TOKEN: prints the claims, or the reason with exit code 1."""

import json
import os
import sys

import jwt

issuer = os.environ["ISSUER"]
# Create one per process: it caches the key set for 5 minutes.
keys = jwt.PyJWKClient(os.environ.get("JWKS_URL") or issuer + "/.well-known/jwks.json")

try:
    token = sys.argv[1]
    claims = jwt.decode(
        token,
        keys.get_signing_key_from_jwt(token),
        algorithms=["RS256"],
        issuer=issuer,
        audience=os.environ["AUDIENCE"],
        options={"require": ["exp", "iss", "aud"]},
    )
    print(json.dumps(claims))
except jwt.PyJWTError as error:
    sys.exit(print(f"refused: {error}") or 1)
