import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import org.jose4j.jwa.AlgorithmConstraints.ConstraintType;
import org.jose4j.jwk.HttpsJwks;
import org.jose4j.jwt.consumer.JwtConsumerBuilder;
import org.jose4j.keys.resolvers.HttpsJwksVerificationKeyResolver;
import org.jose4j.keys.resolvers.VerificationKeyResolver;
import org.jose4j.lang.UnresolvableKeyException;

/**
 * ISSUER=… AUDIENCE=… PORT=… java Service: responds with the claims of a valid token, and with 401
 * to others.
 */
public class Service {
  public static void main(String[] args) throws Exception {
    var env = System.getenv();
    String issuer = env.get("ISSUER");
    String jwksUrl = env.getOrDefault("JWKS_URL", issuer + "/.well-known/jwks.json");

    // Create one per process: it obeys max-age, a minute. A follower says a second.
    var keys = new HttpsJwksVerificationKeyResolver(new HttpsJwks(jwksUrl));
    // Without a kid, the library takes a key that fits.
    VerificationKeyResolver resolver =
        (token, nesting) -> {
          if (token.getKeyIdHeaderValue() == null) {
            throw new UnresolvableKeyException("the token names no kid");
          }
          return keys.resolveKey(token, nesting);
        };
    String[] algorithms = {"RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"};
    var consumer =
        new JwtConsumerBuilder()
            .setVerificationKeyResolver(resolver)
            .setJwsAlgorithmConstraints(ConstraintType.PERMIT, algorithms)
            .setExpectedIssuer(issuer)
            .setExpectedAudience(env.get("AUDIENCE"))
            .setRequireExpirationTime()
            .build();

    int port = Integer.parseInt(env.get("PORT"));
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.createContext(
        "/",
        exchange -> {
          int status = 200;
          String text;
          try {
            String header = exchange.getRequestHeaders().getFirst("Authorization");
            text = consumer.processToClaims(header.replaceFirst("^Bearer ", "")).toJson();
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
