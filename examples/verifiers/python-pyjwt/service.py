"""ISSUER=... AUDIENCE=... PORT=... python service.py: responds with the claims of a valid token, and with 401 to others."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt

issuer = os.environ["ISSUER"]
url = os.environ.get("JWKS_URL") or issuer + "/.well-known/jwks.json"
# Create one per process: it caches the key set for 5 minutes. With a follower, for a second:
seconds = os.environ.get("CACHE_SECONDS")
options = {"lifespan": float(seconds), "cooldown_duration": float(seconds)} if seconds else {}
keys = jwt.PyJWKClient(url, **options)


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            claims = jwt.decode(
                token,
                keys.get_signing_key_from_jwt(token),
                algorithms=["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"],
                issuer=issuer,
                audience=os.environ["AUDIENCE"],
                options={"require": ["exp", "iss", "aud"]},
            )
            self.respond(200, json.dumps(claims))
        except jwt.PyJWTError as error:
            self.respond(401, f"refused: {error}")

    def respond(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(f"{text}\n".encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Service).serve_forever()
