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
	"time"

	"github.com/lestrrat-go/httprc/v3"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jwt"
)

var (
	issuer   = os.Getenv("ISSUER")
	audience = os.Getenv("AUDIENCE")
	jwksURL  = cmp.Or(os.Getenv("JWKS_URL"), issuer+"/.well-known/jwks.json")
)

func main() {
	ctx := context.Background()
	cache, err := jwk.NewCache(ctx, httprc.NewClient())
	if err != nil {
		log.Fatal(err)
	}
	// It obeys max-age, but fetches at most every 15 minutes. With a follower, every second:
	var options []jwk.RegisterOption
	if interval, err := time.ParseDuration(os.Getenv("CACHE_SECONDS") + "s"); err == nil {
		options = append(options, jwk.WithConstantInterval(interval))
	}
	if err := cache.Register(ctx, jwksURL, options...); err != nil {
		log.Fatal(err)
	}
	keys, err := cache.CachedSet(jwksURL)
	if err != nil {
		log.Fatal(err)
	}
	service := func(response http.ResponseWriter, request *http.Request) {
		token, err := jwt.Parse([]byte(strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")),
			jwt.WithKeySet(keys),
			jwt.WithIssuer(issuer),
			jwt.WithAudience(audience),
			jwt.WithRequiredClaim("exp"),
		)
		if err != nil {
			http.Error(response, "refused: "+err.Error(), http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(response).Encode(token)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(service)))
}
