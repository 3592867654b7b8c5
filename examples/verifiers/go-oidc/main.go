// ISSUER=… AUDIENCE=… PORT=… verify: responds with the claims of a valid token, and with 401 to others.
package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

var (
	issuer   = os.Getenv("ISSUER")
	audience = os.Getenv("AUDIENCE")
	jwksURL  = cmp.Or(os.Getenv("JWKS_URL"), issuer+"/.well-known/jwks.json")
)

// With a follower: asks it for each token, since a RemoteKeySet has no time limit.
type followed struct{}

func (followed) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	return oidc.NewRemoteKeySet(ctx, jwksURL).VerifySignature(ctx, token)
}

// Refuses tokens without a kid, for which the library tries all keys.
type strict struct{ oidc.KeySet }

func (keys strict) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	encoded, _, _ := strings.Cut(token, ".")
	decoded, _ := base64.RawURLEncoding.DecodeString(encoded)
	var header struct{ Kid string }
	if json.Unmarshal(decoded, &header) != nil || header.Kid == "" {
		return nil, errors.New("the token names no kid")
	}
	return keys.KeySet.VerifySignature(ctx, token)
}

func main() {
	// Create one per process: it caches the keys until a token matches none of them.
	var keys oidc.KeySet = oidc.NewRemoteKeySet(context.Background(), jwksURL)
	if os.Getenv("CACHE_SECONDS") != "" {
		keys = followed{}
	}
	verifier := oidc.NewVerifier(issuer, strict{keys}, &oidc.Config{
		ClientID:             audience,
		SupportedSigningAlgs: []string{"RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"},
	})
	service := func(response http.ResponseWriter, request *http.Request) {
		token := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
		verified, err := verifier.Verify(request.Context(), token)
		if err != nil {
			http.Error(response, "refused: "+err.Error(), http.StatusUnauthorized)
			return
		}
		var claims json.RawMessage
		_ = verified.Claims(&claims)
		_, _ = response.Write(claims)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(service)))
}
