import type { Addresses, Snippet } from './types.ts'

const partsOf = ({ jwksUri }: Addresses) => {
  const url = new URL(jwksUri)
  const tls = url.protocol === 'https:'
  return { host: url.hostname, port: url.port || (tls ? '443' : '80'), tls }
}

/** Envoy checks the host name of the certificate only if it is configured. */
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

/** Verifiers in front of a service. */
export const gateways: Snippet[] = [
  {
    id: 'envoy',
    title: 'Envoy',
    file: 'envoy.yaml: the filter and its cluster',
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
    note: 'This is cache_duration; the default is 10 minutes. A new key may be rejected for as long. It uses the alg of each published key.',
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

map $jwt_claim_iss $valid_issuer {
  "${issuer}" 1;
}
map $jwt_claim_aud $valid_audience {
  "AUDIENCE" 1;
}
map $jwt_header_alg $valid_algorithm {
${algorithms.map((name) => `  "${name}" 1;`).join('\n')}
}

server {
  location / {
    auth_jwt "api";
    auth_jwt_key_request /_jwks;
    auth_jwt_require $valid_issuer $valid_audience $valid_algorithm error=401;
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
    note: 'Its cache follows the max-age of the JWKS, 60 seconds by default. Open-source nginx has no auth_jwt.',
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
    trust: 'indefinitely',
    note: 'Its discovery cache does not expire and is refreshed only for an unknown kid. To drop a key, clear it with DELETE /openid-connect/issuers in the Admin API. The free jwt plugin does not support a JWKS.',
  },
]
