//! Valid and invalid tokens.

use std::sync::Arc;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::{rsa, signature};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use lineside_config::{TokenConfig, TokenKey};
use lineside_model::Secret;
use lineside_sync::UnixMillis;
use serde_json::{Value, json};

use super::{TokenClaims, TokenError, TokenVerifier};

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
const NOW_S: i64 = 1_800_000_000;

fn config(key: TokenKey) -> TokenConfig {
    TokenConfig { key, issuer: None, audience: None, anonymous: false }
}

fn hmac(secret: &str) -> TokenConfig {
    config(TokenKey::Hmac(Secret::new(secret)))
}

fn sign(claims: &Value) -> String {
    let key = EncodingKey::from_secret(b"secret");
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &key).expect("a token")
}

fn check(config: &TokenConfig, token: &str) -> Result<Arc<TokenClaims>, TokenError> {
    TokenVerifier::new(config).expect("a key").verify_token(token, NOW)
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| str::from_utf8(line).expect("base 64")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[test]
fn a_token_has_user_info_expiry_and_channels() {
    let token = sign(&json!({
        "sub": "42", "exp": NOW_S + 60, "info": {"name": "Ann"}, "channels": ["app/x", "app/y"],
    }));
    let claims = check(&hmac("secret"), &token).expect("good");
    assert_eq!(&*claims.user, "42");
    assert_eq!(&*claims.info, br#"{"name":"Ann"}"#);
    assert_eq!(claims.expires, Some(NOW_S + 60));
    let channels: Vec<&str> = claims.channels.iter().map(|it| it.as_str()).collect();
    assert_eq!(channels, ["app/x", "app/y"]);
    assert_eq!(claims.channel, None);
    let bare = check(&hmac("secret"), &sign(&json!({}))).expect("good");
    assert_eq!(*bare, TokenClaims::default());
}

#[test]
fn a_token_with_another_signature_is_refused() {
    let token = sign(&json!({"sub": "42"}));
    assert_eq!(check(&hmac("other"), &token), Err(TokenError::Invalid));
    let (head, signature) = token.rsplit_once('.').expect("three parts");
    let forged =
        format!("{}.{signature}", sign(&json!({"sub": "43"})).rsplit_once('.').expect("").0);
    let none = STANDARD.encode(r#"{"alg":"none"}"#).replace('=', "");
    let body = head.split_once('.').expect("two parts").1;
    for bad in [forged, format!("{none}.{body}."), head.to_owned(), String::new(), "a.b.c".into()] {
        assert_eq!(check(&hmac("secret"), &bad), Err(TokenError::Invalid), "{bad}");
    }
    let long = "x".repeat(super::TOKEN_BYTES_MAX + 1);
    assert_eq!(check(&hmac("secret"), &long), Err(TokenError::Invalid));
}

#[test]
fn a_remembered_token_still_expires() {
    let verifier = TokenVerifier::new(&hmac("secret")).expect("a key");
    let token = sign(&json!({"sub": "42", "nbf": NOW_S - 1, "exp": NOW_S + 1}));
    let at =
        |seconds: i64| verifier.verify_token(&token, UnixMillis(NOW.0 + seconds * 1_000)).map(drop);
    for _ in 0..2 {
        assert_eq!(at(0), Ok(()));
        assert_eq!(at(1), Err(TokenError::Expired));
        assert_eq!(at(-2), Err(TokenError::Invalid));
    }
    assert_eq!(verifier.valid_tokens.len(), 1);
}

#[test]
fn a_connection_may_outlive_its_token() {
    let expires = |claims: Value| check(&hmac("secret"), &sign(&claims)).expect("good").expires;
    assert_eq!(expires(json!({"exp": NOW_S + 9, "expire_at": NOW_S + 99})), Some(NOW_S + 99));
    assert_eq!(expires(json!({"exp": NOW_S + 9, "expire_at": 0})), None);
}

#[test]
fn a_configured_issuer_and_audience_are_required() {
    let config = TokenConfig {
        issuer: Some("back end".into()),
        audience: Some("lineside".into()),
        ..hmac("secret")
    };
    let good = json!({"iss": "back end", "aud": ["other", "lineside"]});
    assert!(check(&config, &sign(&good)).is_ok());
    for bad in [
        json!({"iss": "back end"}),
        json!({"aud": "lineside"}),
        json!({"iss": "x", "aud": "lineside"}),
        json!({"iss": "back end", "aud": "x"}),
        json!({"iss": ["back end"], "aud": "lineside"}),
    ] {
        assert_eq!(check(&config, &sign(&bad)), Err(TokenError::Invalid), "{bad}");
    }
    assert!(check(&hmac("secret"), &sign(&json!({"aud": "x", "iss": "y"}))).is_ok());
}

#[test]
fn a_token_with_critical_headers_is_refused() {
    let body = URL_SAFE_NO_PAD.encode(json!({"sub": "42"}).to_string());
    let with_head = |head: Value| {
        let signed = format!("{}.{body}", URL_SAFE_NO_PAD.encode(head.to_string()));
        let key = EncodingKey::from_secret(b"secret");
        let signature = jsonwebtoken::crypto::sign(signed.as_bytes(), &key, Algorithm::HS256);
        check(&hmac("secret"), &format!("{signed}.{}", signature.expect("signed")))
    };
    assert!(with_head(json!({"alg": "HS256"})).is_ok());
    for crit in [json!(["x"]), json!(["b64"]), json!([]), json!(null)] {
        let head = json!({"alg": "HS256", "crit": crit, "x": 1, "b64": true});
        assert_eq!(with_head(head), Err(TokenError::Invalid), "{crit}");
    }
}

#[test]
fn invalid_claims_are_refused() {
    for bad in [
        json!({"sub": 42}),
        json!({"sub": "x".repeat(300)}),
        json!({"exp": -1}),
        json!({"exp": "soon"}),
        json!({"info": "x".repeat(4_000)}),
        json!({"b64info": "%"}),
        json!({"b64info": STANDARD.encode("no json")}),
        json!({"channels": "app/x"}),
        json!({"channels": ["app x"]}),
    ] {
        assert_eq!(check(&hmac("secret"), &sign(&bad)), Err(TokenError::Invalid), "{bad}");
    }
    let written = json!({"b64info": STANDARD.encode("[1,\n2]"), "info": null});
    assert_eq!(&*check(&hmac("secret"), &sign(&written)).expect("good").info, b"[1, 2]");
}

#[test]
fn a_public_key_verifies_only_tokens_of_its_private_key() {
    let rsa = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).expect("a key pair");
    let rsa_private: Pkcs8V1Der<'_> = rsa.as_der().expect("DER");
    let rsa_public: PublicKeyX509Der<'_> =
        signature::KeyPair::public_key(&rsa).as_der().expect("DER");
    let ec = signature::EcdsaKeyPair::generate(&signature::ECDSA_P256_SHA256_FIXED_SIGNING)
        .expect("a key pair");
    let ec_private = ec.to_pkcs8v1().expect("DER");
    let ec_public: PublicKeyX509Der<'_> =
        signature::KeyPair::public_key(&ec).as_der().expect("DER");
    let private = |der: &[u8]| pem("PRIVATE KEY", der);
    let public = |der: &[u8]| {
        let pem = pem("PUBLIC KEY", der);
        (config(TokenKey::PublicKey(Secret::new(pem.as_str()))), pem)
    };
    let rsa_key = EncodingKey::from_rsa_pem(private(rsa_private.as_ref()).as_bytes()).expect("RSA");
    let ec_key = EncodingKey::from_ec_pem(private(ec_private.as_ref()).as_bytes()).expect("EC");
    let sign = |algorithm, key: &EncodingKey| {
        let claims = json!({"sub": "42"});
        jsonwebtoken::encode(&Header::new(algorithm), &claims, key).expect("a token")
    };
    let (by_rsa, by_ec) = (sign(Algorithm::RS256, &rsa_key), sign(Algorithm::ES256, &ec_key));
    let (rsa_key_config, rsa_pem) = public(rsa_public.as_ref());
    let (ec_key_config, _) = public(ec_public.as_ref());
    assert!(check(&rsa_key_config, &by_rsa).is_ok());
    assert!(check(&ec_key_config, &by_ec).is_ok());
    assert_eq!(check(&rsa_key_config, &by_ec), Err(TokenError::Invalid));
    assert_eq!(check(&ec_key_config, &by_rsa), Err(TokenError::Invalid));
    // The public key is known to everyone: used as an HMAC secret, it would let anyone sign tokens.
    let forged = sign(Algorithm::HS256, &EncodingKey::from_secret(rsa_pem.as_bytes()));
    assert_eq!(check(&rsa_key_config, &forged), Err(TokenError::Invalid));
}

#[test]
fn an_invalid_public_key_is_refused() {
    for text in ["", "secret", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"] {
        assert!(
            TokenVerifier::new(&config(TokenKey::PublicKey(Secret::new(text)))).is_none(),
            "{text}"
        );
    }
}
