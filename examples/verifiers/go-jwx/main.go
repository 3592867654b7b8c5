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
	"sync/atomic"
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
	ctx := context.Background()
	var last received
	cache, err := jwk.NewCache(ctx, httprc.NewClient())
	if err != nil {
		log.Fatal(err)
	}
	// It obeys max-age, but fetches at most every 15 minutes. With a follower, every second:
	var options []jwk.RegisterOption
	interval, err := time.ParseDuration(os.Getenv("CACHE_SECONDS") + "s")
	if err == nil {
		client := &http.Client{Transport: &last}
		options = append(options, jwk.WithConstantInterval(interval), jwk.WithHTTPClient(client))
	}
	if err := cache.Register(ctx, jwksURL, options...); err != nil {
		log.Fatal(err)
	}
	keys, err := cache.CachedSet(jwksURL)
	if err != nil {
		log.Fatal(err)
	}
	service := func(response http.ResponseWriter, request *http.Request) {
		if last.isTooOld(interval) {
			http.Error(response, "refused: the key set is too old", http.StatusUnauthorized)
			return
		}
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
