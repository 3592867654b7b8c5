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
	"sync/atomic"
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

// When the key set was last received, since the library keeps using it while there is none.
type received struct{ at atomic.Int64 }

func (last *received) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusOK {
		last.at.Store(time.Now().UnixNano())
	}
	return response, err
}

// Whether the follower has died.
func (last *received) isTooOld(interval time.Duration) bool {
	return interval > 0 && time.Since(time.Unix(0, last.at.Load())) > 3*interval
}

func main() {
	// Create one per process: it refreshes the key set every hour. With a follower, every second:
	var last received
	var options keyfunc.Override
	interval, err := time.ParseDuration(os.Getenv("CACHE_SECONDS") + "s")
	if err == nil {
		options.Client = &http.Client{Transport: &last}
		options.RefreshInterval = interval
		options.RefreshUnknownKID = rate.NewLimiter(rate.Every(interval), 1)
	}
	keys, err := keyfunc.NewDefaultOverrideCtx(context.Background(), []string{jwksURL}, options)
	if err != nil {
		log.Fatal(err)
	}
	// Without a kid, the library tries all keys.
	keyOf := func(token *jwt.Token) (any, error) {
		if last.isTooOld(interval) {
			return nil, errors.New("the key set is too old")
		}
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
