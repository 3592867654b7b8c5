"""ISSUER=... AUDIENCE=... PORT=... python service.py: responds with the claims of a valid token, and with 401 to others."""

import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

from authlib.jose import JsonWebKey, JsonWebToken
from authlib.jose.errors import JoseError

issuer = os.environ["ISSUER"]
url = os.environ.get("JWKS_URL") or issuer + "/.well-known/jwks.json"
# The library fetches nothing itself: keep the key set for some minutes, and no longer. With a follower, for a second.
seconds = float(os.environ.get("CACHE_SECONDS") or 300)
tokens = JsonWebToken(["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"])
rules = {
    "iss": {"essential": True, "value": issuer},
    "aud": {"essential": True, "value": os.environ["AUDIENCE"]},
    "exp": {"essential": True},
}
cached = {"until": 0.0}


def keys():
    if time.monotonic() >= cached["until"]:
        with urlopen(url, timeout=5) as response:
            cached["keys"] = JsonWebKey.import_key_set(json.load(response))
        cached["until"] = time.monotonic() + seconds
    return cached["keys"]


def key_of(header, _claims):
    # With a kid of null, the library takes the only key of a set.
    return keys().find_by_kid(str(header["kid"]))


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            claims = tokens.decode(token, key_of, claims_options=rules)
            claims.validate()
            self.respond(200, json.dumps(claims))
        except (JoseError, OSError, ValueError, KeyError) as error:
            self.respond(401, f"refused: {error}")

    def respond(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(f"{text}\n".encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Service).serve_forever()
