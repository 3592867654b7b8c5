import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.net.URI;
import java.util.Optional;
import java.util.Set;

/** ISSUER=… AUDIENCE=… java Verify TOKEN: prints the claims, or the reason with exit code 1. */
public class Verify {
  public static void main(String[] args) throws Exception {
    String issuer = System.getenv("ISSUER");
    String audience = System.getenv("AUDIENCE");
    String jwksUrl =
        Optional.ofNullable(System.getenv("JWKS_URL")).orElse(issuer + "/.well-known/jwks.json");

    // Create one per process: it caches the key set for 5 minutes.
    var keys = JWKSourceBuilder.<SecurityContext>create(URI.create(jwksUrl).toURL()).build();
    var processor = new DefaultJWTProcessor<SecurityContext>();
    processor.setJWSKeySelector(new JWSVerificationKeySelector<>(JWSAlgorithm.RS256, keys));
    processor.setJWTClaimsSetVerifier(
        new DefaultJWTClaimsVerifier<>(
            audience, new JWTClaimsSet.Builder().issuer(issuer).build(), Set.of("exp")));

    try {
      System.out.println(processor.process(args[0], null));
    } catch (Exception error) {
      System.out.println("refused: " + error.getMessage());
      System.exit(1);
    }
  }
}
