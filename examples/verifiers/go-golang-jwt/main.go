// ISSUER=… AUDIENCE=… verify TOKEN: prints the claims, or the reason with exit code 1.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

var (
	issuer   = os.Getenv("ISSUER")
	audience = os.Getenv("AUDIENCE")
	jwksURL  = cmp.Or(os.Getenv("JWKS_URL"), issuer+"/.well-known/jwks.json")
)

func main() {
	// Create one per process: it refreshes the key set every hour.
	keys, err := keyfunc.NewDefaultCtx(context.Background(), []string{jwksURL})
	if err != nil {
		log.Fatal(err)
	}
	token, err := jwt.Parse(os.Args[1], keys.Keyfunc,
		jwt.WithValidMethods([]string{"RS256"}),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
	)
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	claims, _ := json.Marshal(token.Claims)
	fmt.Println(string(claims))
}
