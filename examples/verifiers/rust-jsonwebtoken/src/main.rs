//! ISSUER=… AUDIENCE=… PORT=… verify: responds with the claims of a valid token, and with 401 to others.

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::Value;
use std::env;
use std::error::Error;
use std::time::{Duration, Instant};
use tiny_http::{Request, Response, Server};

/// The crate fetches nothing itself: keep the key set for some minutes. With a follower, for a second.
struct Keys {
    url: String,
    lifetime: Duration,
    cached: Option<(Instant, JwkSet)>,
}

impl Keys {
    fn get(&mut self) -> Result<&JwkSet, Box<dyn Error>> {
        if self.cached.as_ref().is_none_or(|(time, _)| time.elapsed() > self.lifetime) {
            let set = ureq::get(&self.url).call()?.body_mut().read_json()?;
            self.cached = Some((Instant::now(), set));
        }
        Ok(self.cached.as_ref().map(|(_, set)| set).ok_or("no key set")?)
    }
}

fn verify(
    keys: &mut Keys,
    issuer: &str,
    audience: &str,
    request: &Request,
) -> Result<Value, Box<dyn Error>> {
    let header = request.headers().iter().find(|one| one.field.equiv("Authorization"));
    let token = header.and_then(|one| one.value.as_str().strip_prefix("Bearer ")).unwrap_or("");
    let kid = decode_header(token)?.kid.ok_or("the token names no kid")?;
    let key = keys.get()?.find(&kid).ok_or("the key set has no such kid")?;
    let published = key.common.key_algorithm.ok_or("the key names no algorithm")?;
    let mut rules = Validation::new(published.to_string().parse::<Algorithm>()?);
    rules.set_issuer(&[issuer]);
    rules.set_audience(&[audience]);
    rules.validate_nbf = true;
    rules.set_required_spec_claims(&["exp", "iss", "aud"]);
    Ok(decode::<Value>(token, &DecodingKey::from_jwk(key)?, &rules)?.claims)
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (issuer, audience) = (env::var("ISSUER")?, env::var("AUDIENCE")?);
    let url = env::var("JWKS_URL").unwrap_or(format!("{issuer}/.well-known/jwks.json"));
    let seconds = env::var("CACHE_SECONDS").unwrap_or("300".into()).parse()?;
    let mut keys = Keys { url, lifetime: Duration::from_secs(seconds), cached: None };
    let server = Server::http(format!("127.0.0.1:{}", env::var("PORT")?))?;
    for request in server.incoming_requests() {
        let (status, text) = match verify(&mut keys, &issuer, &audience, &request) {
            Ok(claims) => (200, claims.to_string()),
            Err(error) => (401, format!("refused: {error}")),
        };
        request.respond(Response::from_string(text).with_status_code(status))?;
    }
    Ok(())
}
