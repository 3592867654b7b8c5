import type { Addresses, Snippet } from './types.ts'

const partsOf = ({ jwksUri }: Addresses) => {
  const url = new URL(jwksUri)
  const tls = url.protocol === 'https:'
  return { host: url.hostname, port: url.port || (tls ? '443' : '80'), tls }
}

/** Envoy takes the name of the host from the certificate check alone where TLS is used. */
const envoyTls = (host: string) => `
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          sni: ${host}
          common_tls_context:
            validation_context:
              trusted_ca: { filename: /etc/ssl/certs/ca-certificates.crt }
              match_typed_subject_alt_names:
                - san_type: DNS
                  matcher: { exact: ${host} }`

/** Verifiers that stand in front of a service. */
export const gateways: Snippet[] = [
  {
    id: 'envoy',
    title: 'Envoy',
    file: 'envoy.yaml: the filter, and the cluster that it reads from',
    text: (addresses) => {
      const { host, port, tls } = partsOf(addresses)
      return `http_filters:
  - name: envoy.filters.http.jwt_authn
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication
      providers:
        pubring:
          issuer: ${addresses.issuer}
          audiences: [AUDIENCE]
          require_expiration: true
          remote_jwks:
            http_uri:
              uri: ${addresses.jwksUri}
              cluster: pubring
              timeout: 2s
            cache_duration: 60s
            async_fetch: {}
      rules:
        - match: { prefix: / }
          requires: { provider_name: pubring }
clusters:
  - name: pubring
    type: STRICT_DNS
    load_assignment:
      cluster_name: pubring
      endpoints:
        - lb_endpoints:
            - endpoint:
                address:
                  socket_address: { address: ${host}, port_value: ${port} }${tls ? envoyTls(host).replaceAll('\n      ', '\n    ') : ''}
`
    },
    trust: '1 minute',
    note: 'That is cache_duration; left out, it is 10 minutes. A new key may be refused for as long. It takes the alg of each published key.',
  },
  {
    id: 'nginx',
    title: 'NGINX Plus',
    file: 'nginx.conf',
    text: ({
      issuer,
      jwksUri,
      algorithms,
    }) => `proxy_cache_path /var/cache/nginx/jwks levels=1 keys_zone=jwks:1m max_size=10m;

map $jwt_claim_iss $right_issuer {
  "${issuer}" 1;
}
map $jwt_claim_aud $right_audience {
  "AUDIENCE" 1;
}
map $jwt_header_alg $right_algorithm {
${algorithms.map((name) => `  "${name}" 1;`).join('\n')}
}

server {
  location / {
    auth_jwt "api";
    auth_jwt_key_request /_jwks;
    auth_jwt_require $right_issuer $right_audience $right_algorithm error=401;
    proxy_pass http://your_service;
  }
  location = /_jwks {
    internal;
    proxy_pass ${jwksUri};
    proxy_ssl_server_name on;
    proxy_cache jwks;
    proxy_cache_valid 200 60s;
  }
}
`,
    trust: '1 minute',
    note: 'Its cache obeys the max-age of the key set, 60 seconds unless configured. Open-source nginx has no auth_jwt.',
  },
  {
    id: 'kong',
    title: 'Kong',
    file: 'kong.yaml · Kong Enterprise, plugin openid-connect',
    text: ({ issuer }) => `_format_version: "3.0"
plugins:
  - name: openid-connect
    config:
      issuer: ${issuer}/.well-known/openid-configuration
      auth_methods: [bearer]
      audience_required: [AUDIENCE]
      issuers_allowed: ["${issuer}"]
`,
    trust: 'no end',
    note: 'Its discovery cache has no expiry: it discovers again only for a kid that it does not know. When a key must go, clear it by DELETE /openid-connect/issuers at the Admin API. The free jwt plugin reads no key set.',
  },
]
