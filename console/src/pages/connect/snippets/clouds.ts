import { quotedList, type Snippet } from './types.ts'

/** Verifiers that a cloud or a cluster runs. They must be able to reach the addresses. */
export const clouds: Snippet[] = [
  {
    id: 'aws',
    title: 'AWS API Gateway',
    file: 'API Gateway, HTTP API: a JWT authorizer by the AWS CLI',
    text: ({ issuer }) => `aws apigatewayv2 create-authorizer \\
  --api-id "$API_ID" \\
  --name pubring \\
  --authorizer-type JWT \\
  --identity-source '$request.header.Authorization' \\
  --jwt-configuration 'Issuer=${issuer},Audience=AUDIENCE'
`,
    trust: 'up to an hour',
    note: 'It takes RSA keys alone, and needs an https issuer that the internet reaches. In a Lambda authorizer use aws-jwt-verify instead.',
  },
  {
    id: 'gcp',
    title: 'Google API Gateway',
    file: 'openapi.yaml of API Gateway or Cloud Endpoints',
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
    note: 'It needs an https address that the internet reaches.',
  },
  {
    id: 'gcp-workload',
    title: 'Google workload identity',
    file: 'tokens of yours for Google credentials, by the gcloud CLI',
    text: ({ issuer }) => `gcloud iam workload-identity-pools create pubring --location=global

gcloud iam workload-identity-pools providers create-oidc pubring \\
  --location=global \\
  --workload-identity-pool=pubring \\
  --issuer-uri='${issuer}' \\
  --allowed-audiences='AUDIENCE' \\
  --attribute-mapping='google.subject=assertion.sub'
`,
    trust: 'not documented',
    note: 'It takes RSA and EC keys, and needs an https issuer that the internet reaches.',
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
    trust: 'no end',
    note: 'The API server verifies by go-oidc, which reads the set anew only when no key in it fits a token; a restart empties it. It needs an https issuer.',
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
    note: 'That is how often istiod reads the set: PILOT_JWT_PUB_KEY_REFRESH_INTERVAL. A new key may be refused for as long.',
  },
  {
    id: 'other',
    title: 'Anything else',
    file: 'what every verifier needs',
    text: ({ issuer, jwksUri, algorithms }) => `issuer      ${issuer}
discovery   ${issuer}/.well-known/openid-configuration
jwks_uri    ${jwksUri}
algorithms  ${quotedList(algorithms, '')}
audience    AUDIENCE
`,
    trust: 'see its cache',
    note: 'Pin the algorithms, choose the key by kid, compare iss and aud, require exp, and keep one cache for the process.',
  },
]
