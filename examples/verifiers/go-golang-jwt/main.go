// ISSUER=… AUDIENCE=… PORT=… verify: responds with the claims of a valid token, and with 401 to others.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

var (
	issuer   = os.Getenv("ISSUER")
	audience = os.Getenv("AUDIENCE")
	jwksURL  = cmp.Or(os.Getenv("JWKS_URL"), issuer+"/.well-known/jwks.json")
)

func main() {
	// Create one per process: it refreshes the key set every hour. With a follower, every second:
	var options keyfunc.Override
	if interval, err := time.ParseDuration(os.Getenv("CACHE_SECONDS") + "s"); err == nil {
		options.RefreshInterval = interval
		options.RefreshUnknownKID = rate.NewLimiter(rate.Every(interval), 1)
	}
	keys, err := keyfunc.NewDefaultOverrideCtx(context.Background(), []string{jwksURL}, options)
	if err != nil {
		log.Fatal(err)
	}
	// Without a kid, the library tries all keys.
	keyOf := func(token *jwt.Token) (any, error) {
		if _, isThere := token.Header["kid"]; !isThere {
			return nil, errors.New("the token names no kid")
		}
		return keys.Keyfunc(token)
	}
	service := func(response http.ResponseWriter, request *http.Request) {
		token, err := jwt.Parse(strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "),
			keyOf,
			jwt.WithValidMethods([]string{"RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"}),
			jwt.WithIssuer(issuer),
			jwt.WithAudience(audience),
			jwt.WithExpirationRequired(),
		)
		if err != nil {
			http.Error(response, "refused: "+err.Error(), http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(response).Encode(token.Claims)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(service)))
}
