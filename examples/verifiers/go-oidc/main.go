// ISSUER=… AUDIENCE=… PORT=… verify: responds with the claims of a valid token, and with 401 to others.
package main

import (
	"cmp"
	"context"
	"encoding/json"
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

func main() {
	// Create one per process: it caches the keys until a token matches none of them.
	var keys oidc.KeySet = oidc.NewRemoteKeySet(context.Background(), jwksURL)
	if os.Getenv("CACHE_SECONDS") != "" {
		keys = followed{}
	}
	verifier := oidc.NewVerifier(issuer, keys, &oidc.Config{
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
