import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.SecurityContext;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Set;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.core.OAuth2Error;
import org.springframework.security.oauth2.core.OAuth2TokenValidator;
import org.springframework.security.oauth2.core.OAuth2TokenValidatorResult;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;

/**
 * ISSUER=… AUDIENCE=… PORT=… java Service: responds with the claims of a valid token, and with 401
 * to others.
 */
public class Service {
  public static void main(String[] args) throws Exception {
    var env = System.getenv();
    String issuer = env.get("ISSUER");
    String jwksUrl = env.getOrDefault("JWKS_URL", issuer + "/.well-known/jwks.json");

    var algorithms = Set.of(SignatureAlgorithm.values());
    NimbusJwtDecoder decoder;
    if (env.containsKey("CACHE_SECONDS")) {
      // With a follower: caches the key set for a second.
      long ms = 1_000 * Long.parseLong(env.get("CACHE_SECONDS"));
      var keys = JWKSourceBuilder.<SecurityContext>create(URI.create(jwksUrl).toURL());
      keys.cache(ms, ms).refreshAheadCache(false).rateLimited(false);
      decoder = NimbusJwtDecoder.withJwkSource(keys.build()).jwsAlgorithms(all -> all.addAll(algorithms)).build();
    } else {
      // Caches the key set for 5 minutes. In Spring Boot, make it a bean.
      decoder = NimbusJwtDecoder.withJwkSetUri(jwksUrl).jwsAlgorithms(all -> all.addAll(algorithms)).build();
    }
    // Without a kid, the library tries all keys.
    OAuth2TokenValidator<Jwt> namesKey =
        token ->
            token.getHeaders().get("kid") != null
                ? OAuth2TokenValidatorResult.success()
                : OAuth2TokenValidatorResult.failure(new OAuth2Error("invalid_token"));
    decoder.setJwtValidator(
        new DelegatingOAuth2TokenValidator<>(
            namesKey,
            JwtValidators.createDefaultWithIssuer(issuer),
            new JwtClaimValidator<List<String>>(
                "aud", aud -> aud != null && aud.contains(env.get("AUDIENCE"))),
            new JwtClaimValidator<Object>("exp", exp -> exp != null)));

    int port = Integer.parseInt(env.get("PORT"));
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.createContext(
        "/",
        exchange -> {
          int status = 200;
          String text;
          try {
            String header = exchange.getRequestHeaders().getFirst("Authorization");
            text = decoder.decode(header.replaceFirst("^Bearer ", "")).getClaims().toString();
          } catch (Exception error) {
            status = 401;
            text = "refused: " + error.getMessage();
          }
          exchange.sendResponseHeaders(status, text.getBytes().length);
          exchange.getResponseBody().write(text.getBytes());
          exchange.close();
        });
    server.start();
  }
}
