import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.KeySourceException;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.security.Key;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * ISSUER=… AUDIENCE=… PORT=… java Service: responds with the claims of a valid token, and with 401
 * to others.
 */
public class Service {
  public static void main(String[] args) throws Exception {
    var env = System.getenv();
    String issuer = env.get("ISSUER");
    String jwksUrl = env.getOrDefault("JWKS_URL", issuer + "/.well-known/jwks.json");

    // Create one per process: it caches the key set for 5 minutes. With a follower, for a second:
    var keys = JWKSourceBuilder.<SecurityContext>create(URI.create(jwksUrl).toURL());
    Optional.ofNullable(env.get("CACHE_SECONDS"))
        .map(seconds -> 1_000 * Long.parseLong(seconds))
        .ifPresent(ms -> keys.cache(ms, ms).refreshAheadCache(false).rateLimited(false));
    var processor = new DefaultJWTProcessor<SecurityContext>();
    var algorithms = Set.of("RS256", "PS256", "ES256", "ES384", "ES512");
    processor.setJWSKeySelector(
        new JWSVerificationKeySelector<SecurityContext>(
            Set.copyOf(algorithms.stream().map(JWSAlgorithm::parse).toList()), keys.build()) {
          /** Without a kid, the library tries all keys. */
          @Override
          public List<Key> selectJWSKeys(JWSHeader header, SecurityContext context)
              throws KeySourceException {
            return header.getKeyID() == null ? List.of() : super.selectJWSKeys(header, context);
          }
        });
    processor.setJWTClaimsSetVerifier(
        new DefaultJWTClaimsVerifier<>(
            env.get("AUDIENCE"),
            new JWTClaimsSet.Builder().issuer(issuer).build(),
            Set.of("exp")));

    int port = Integer.parseInt(env.get("PORT"));
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.createContext(
        "/",
        exchange -> {
          int status = 200;
          String text;
          try {
            String header = exchange.getRequestHeaders().getFirst("Authorization");
            text = processor.process(header.replaceFirst("^Bearer ", ""), null).toString();
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
