// ISSUER=… AUDIENCE=… verify TOKEN: prints the claims, or the reason with exit code 1.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/coreos/go-oidc/v3/oidc"
)

var (
	issuer   = os.Getenv("ISSUER")
	audience = os.Getenv("AUDIENCE")
	jwksURL  = cmp.Or(os.Getenv("JWKS_URL"), issuer+"/.well-known/jwks.json")
)

func verify(ctx context.Context, verifier *oidc.IDTokenVerifier, token string) ([]byte, error) {
	verified, err := verifier.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	var claims json.RawMessage
	err = verified.Claims(&claims)
	return claims, err
}

func main() {
	ctx := context.Background()
	// Create one per process: it caches the keys until a token matches none of them. Replace it every few
	// minutes if deactivated keys must be dropped sooner.
	keys := oidc.NewRemoteKeySet(ctx, jwksURL)
	verifier := oidc.NewVerifier(issuer, keys, &oidc.Config{
		ClientID:             audience,
		SupportedSigningAlgs: []string{oidc.RS256},
	})
	claims, err := verify(ctx, verifier, os.Args[1])
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	fmt.Println(string(claims))
}
