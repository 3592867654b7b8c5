import { quotedList, type Snippet } from './types.ts'

/** Verifiers for Python, Go and Java. */
export const languages: Snippet[] = [
  {
    id: 'python',
    title: 'Python, PyJWT',
    file: 'verify.py · pip install "pyjwt[crypto]"',
    text: ({ issuer, jwksUri, algorithms }) => `import jwt

# Create one per process: it is the cache.
keys = jwt.PyJWKClient("${jwksUri}", lifespan=60)


def verify(token: str) -> dict:
    return jwt.decode(
        token,
        keys.get_signing_key_from_jwt(token),
        algorithms=[${quotedList(algorithms, '"')}],
        issuer="${issuer}",
        audience="AUDIENCE",
        options={"require": ["exp", "iss", "aud"]},
    )
`,
    trust: '1 minute',
    note: 'This is lifespan; the default is 5 minutes. Leave cache_keys off: with it, keys are cached indefinitely.',
  },
  {
    id: 'go',
    title: 'Go, keyfunc',
    file: 'verify.go · go get github.com/MicahParks/keyfunc/v3 github.com/golang-jwt/jwt/v5',
    text: ({ issuer, jwksUri, algorithms }) => `package auth

import (
	"context"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

// NewVerifier creates a verifier. Create one per process: it is the cache.
func NewVerifier(ctx context.Context) (func(string) (*jwt.Token, error), error) {
	keys, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{"${jwksUri}"},
		keyfunc.Override{RefreshInterval: time.Minute})
	if err != nil {
		return nil, err
	}
	return func(token string) (*jwt.Token, error) {
		return jwt.Parse(token, keys.Keyfunc,
			jwt.WithValidMethods([]string{${quotedList(algorithms, '"')}}),
			jwt.WithIssuer("${issuer}"),
			jwt.WithAudience("AUDIENCE"),
			jwt.WithExpirationRequired())
	}, nil
}
`,
    trust: '1 minute',
    note: 'This is RefreshInterval; the default is one hour.',
  },
  {
    id: 'go-oidc',
    title: 'Go, go-oidc',
    file: 'verify.go · go get github.com/coreos/go-oidc/v3',
    text: ({ issuer, jwksUri, algorithms }) => `package auth

import (
	"context"

	"github.com/coreos/go-oidc/v3/oidc"
)

// NewVerifier creates a verifier. Replace it every few minutes: see below.
func NewVerifier(ctx context.Context) *oidc.IDTokenVerifier {
	keys := oidc.NewRemoteKeySet(ctx, "${jwksUri}")
	return oidc.NewVerifier("${issuer}", keys, &oidc.Config{
		ClientID:             "AUDIENCE",
		SupportedSigningAlgs: []string{${quotedList(algorithms, '"')}},
	})
}
`,
    trust: 'indefinitely',
    note: 'It refreshes the JWKS only when no key matches a token. Create a new verifier every few minutes, or use keyfunc.',
  },
  {
    id: 'java',
    title: 'Java, Spring',
    file: 'application.yaml · spring-boot-starter-oauth2-resource-server',
    text: ({ issuer, jwksUri, algorithms }) => `spring:
  security:
    oauth2:
      resourceserver:
        jwt:
          issuer-uri: ${issuer}
          jwk-set-uri: ${jwksUri}
          jws-algorithms: ${algorithms.join(', ')}
          audiences: AUDIENCE
`,
    trust: '5 minutes',
    note: 'Indefinitely in a WebFlux service, which caches keys until a token has an unknown kid.',
  },
  {
    id: 'java-nimbus',
    title: 'Java, Nimbus',
    file: 'Verifier.java · com.nimbusds:nimbus-jose-jwt',
    text: ({ issuer, jwksUri, algorithms }) => `import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.net.URI;
import java.util.Set;

/** Create one per process: it is the cache. */
public class Verifier {
  private final DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();

  public Verifier() throws Exception {
    var address = URI.create("${jwksUri}").toURL();
    var keys = JWKSourceBuilder.<SecurityContext>create(address).build();
    var algorithms = Set.of(${algorithms.map((name) => `JWSAlgorithm.parse("${name}")`).join(', ')});
    processor.setJWSKeySelector(new JWSVerificationKeySelector<>(algorithms, keys));
    processor.setJWTClaimsSetVerifier(
        new DefaultJWTClaimsVerifier<>(
            "AUDIENCE",
            new JWTClaimsSet.Builder().issuer("${issuer}").build(),
            Set.of("exp")));
  }

  public JWTClaimsSet verify(String token) throws Exception {
    return processor.process(token, null);
  }
}
`,
    trust: '5 minutes',
    note: 'It refreshes the JWKS earlier when a token has an unknown kid.',
  },
]
