//! ISSUER=… AUDIENCE=… verify TOKEN: prints the claims, or the reason with exit code 1.

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::Value;
use std::env;
use std::error::Error;
use std::process::ExitCode;

/// The crate fetches nothing itself: a service fetches the set periodically, and when a token has an
/// unknown kid.
fn fetch(url: &str) -> Result<JwkSet, Box<dyn Error>> {
    Ok(ureq::get(url).call()?.body_mut().read_json()?)
}

fn verify(
    keys: &JwkSet,
    issuer: &str,
    audience: &str,
    token: &str,
) -> Result<Value, Box<dyn Error>> {
    let kid = decode_header(token)?.kid.ok_or("the token names no kid")?;
    let key = keys.find(&kid).ok_or("the key set has no such kid")?;
    let mut rules = Validation::new(Algorithm::RS256);
    rules.set_issuer(&[issuer]);
    rules.set_audience(&[audience]);
    rules.set_required_spec_claims(&["exp", "iss", "aud"]);
    Ok(decode::<Value>(token, &DecodingKey::from_jwk(key)?, &rules)?.claims)
}

fn run() -> Result<Value, Box<dyn Error>> {
    let (issuer, audience) = (env::var("ISSUER")?, env::var("AUDIENCE")?);
    let url = env::var("JWKS_URL").unwrap_or(format!("{issuer}/.well-known/jwks.json"));
    let token = env::args().nth(1).ok_or("the token is missing")?;
    verify(&fetch(&url)?, &issuer, &audience, &token)
}

fn main() -> ExitCode {
    match run() {
        Ok(claims) => {
            println!("{claims}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("refused: {error}");
            ExitCode::FAILURE
        }
    }
}
