import { quotedList, type Snippet } from './types.ts'

/** Verifiers that run in a cloud or a cluster, from which the addresses must be reachable. */
export const clouds: Snippet[] = [
  {
    id: 'aws',
    title: 'AWS API Gateway',
    file: 'AWS CLI: a JWT authorizer for an HTTP API',
    text: ({ issuer }) => `aws apigatewayv2 create-authorizer \\
  --api-id "$API_ID" \\
  --name pubring \\
  --authorizer-type JWT \\
  --identity-source '$request.header.Authorization' \\
  --jwt-configuration 'Issuer=${issuer},Audience=AUDIENCE'
`,
    trust: 'up to an hour',
    note: 'It supports only RSA keys and needs a public https issuer. In a Lambda authorizer, use aws-jwt-verify instead.',
  },
  {
    id: 'gcp',
    title: 'Google API Gateway',
    file: 'openapi.yaml for API Gateway or Cloud Endpoints',
    text: ({ issuer, jwksUri }) => `securityDefinitions:
  pubring:
    type: oauth2
    authorizationUrl: ""
    flow: implicit
    x-google-issuer: "${issuer}"
    x-google-jwks_uri: "${jwksUri}"
    x-google-audiences: "AUDIENCE"
security:
  - pubring: []
`,
    trust: '5 minutes',
    note: 'It needs a public https URL.',
  },
  {
    id: 'gcp-workload',
    title: 'Google workload identity',
    file: 'gcloud CLI: exchange your tokens for Google credentials',
    text: ({ issuer }) => `gcloud iam workload-identity-pools create pubring --location=global

gcloud iam workload-identity-pools providers create-oidc pubring \\
  --location=global \\
  --workload-identity-pool=pubring \\
  --issuer-uri='${issuer}' \\
  --allowed-audiences='AUDIENCE' \\
  --attribute-mapping='google.subject=assertion.sub'
`,
    trust: 'not documented',
    note: 'It supports RSA and EC keys and needs a public https issuer.',
  },
  {
    id: 'kubernetes',
    title: 'Kubernetes',
    file: 'authentication.yaml · kube-apiserver --authentication-config',
    text: ({ issuer }) => `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
  - issuer:
      url: ${issuer}
      audiences: [AUDIENCE]
    claimMappings:
      username:
        claim: sub
        prefix: "pubring:"
`,
    trust: 'indefinitely',
    note: 'The API server uses go-oidc, which refreshes the JWKS only when no key matches a token; a restart clears it. It needs an https issuer.',
  },
  {
    id: 'istio',
    title: 'Istio',
    file: 'request-authentication.yaml',
    text: ({ issuer, jwksUri }) => `apiVersion: security.istio.io/v1
kind: RequestAuthentication
metadata:
  name: pubring
spec:
  jwtRules:
    - issuer: ${issuer}
      jwksUri: ${jwksUri}
      audiences: [AUDIENCE]
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata:
  name: require-pubring
spec:
  action: ALLOW
  rules:
    - from:
        - source:
            requestPrincipals: ["${issuer}/*"]
`,
    trust: '20 minutes',
    note: 'This is how often istiod reads the JWKS: PILOT_JWT_PUB_KEY_REFRESH_INTERVAL. A new key may be rejected for as long.',
  },
  {
    id: 'other',
    title: 'Other verifiers',
    file: 'what every verifier needs',
    text: ({ issuer, jwksUri, algorithms }) => `issuer      ${issuer}
discovery   ${issuer}/.well-known/openid-configuration
jwks_uri    ${jwksUri}
algorithms  ${quotedList(algorithms, '')}
audience    AUDIENCE
`,
    trust: 'depends on its cache',
    note: 'Pin the algorithms, select the key by kid, check iss and aud, require exp, and use one cache per process.',
  },
]
