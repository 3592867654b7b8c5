import { shellWord } from '../../../components/shell.ts'
import { haproxyString, literal, literals, type Snippet, type Verifier } from './types.ts'

/** The address of the server, and the project in it. */
const partsOf = ({ issuer }: Verifier) => {
  const [server = '', project = ''] = issuer.split('/v1/projects/')
  return { server, project }
}

/** Verifiers in other languages and in front of services. */
export const others: Snippet[] = [
  {
    id: 'python',
    title: 'Python, PyJWT',
    file: 'verify.py · pip install "pyjwt[crypto]"',
    text: ({ issuer, jwksUri, algorithms, audience }) => `import jwt

# Create one per process: it is the cache.
keys = jwt.PyJWKClient(${literal(jwksUri)}, lifespan=60)


def verify(token: str) -> dict:
    return jwt.decode(
        token,
        keys.get_signing_key_from_jwt(token),
        algorithms=[${literals(algorithms)}],
        issuer=${literal(issuer)},
        audience=${literal(audience)},
        options={"require": ["exp", "iss", "aud"]},
    )
`,
    trust: '1 minute',
    note: 'This is lifespan; the default is 5 minutes. Leave cache_keys off: with it, keys are cached indefinitely.',
  },
  {
    id: 'haproxy',
    title: 'HAProxy, live',
    file: 'run.sh · HAProxy 2.6 or later, in a checkout of Pubring or where its package is installed',
    text: (verifier) => {
      const { server, project } = partsOf(verifier)
      return `export PUBRING_URL=${shellWord(server)} BIND="\${BIND:-:8000}"
cat > haproxy.cfg <<'END'
frontend api from pubring-${project}
    timeout client 30s
    bind "$BIND"
    http-request set-var(txn.iss) http_auth_bearer,jwt_payload_query('$.iss')
    http-request set-var(txn.aud) http_auth_bearer,jwt_payload_query('$.aud')
    http-request set-var(txn.exp) http_auth_bearer,jwt_payload_query('$.exp','int')
    http-request set-var(txn.now) date()
    http-request deny deny_status 401 unless { var(txn.pubring_verified) -m int 1 }
    http-request deny deny_status 401 unless { var(txn.iss) -m str ${haproxyString(verifier.issuer)} }
    http-request deny deny_status 401 unless { var(txn.aud) -m str ${haproxyString(verifier.audience)} }
    http-request deny deny_status 401 unless { var(txn.exp),sub(txn.now) -m int gt 0 }
    # Replace with your backend:
    http-request return status 200
END
# The follower writes the keys, and HAProxy reloads them when they change.
npx pubring jwks follow ${project} --format haproxy --out keys.cfg --once
haproxy -W -p haproxy.pid -f keys.cfg -f haproxy.cfg &
exec npx pubring jwks follow ${project} --format haproxy --out keys.cfg --exec 'kill -USR2 $(cat haproxy.pid)'
`
    },
    trust: 'about a second',
    note: 'The follower holds a request open at the server. It supports RSA and EC keys, and tokens with one audience.',
  },
  {
    id: 'follower',
    title: 'Any library, live',
    file: 'in a shell, in a checkout of Pubring or where its package is installed',
    text: (verifier) => {
      const { server, project } = partsOf(verifier)
      return `# Beside your service: a local copy of the key set that changes within a second.
export PUBRING_URL=${shellWord(server)} LISTEN="\${LISTEN:-127.0.0.1:8081}"
echo "Load the key set every second from http://$LISTEN/v1/projects/${project}/.well-known/jwks.json"
exec npx pubring jwks follow ${project} --listen "$LISTEN"
`
    },
    trust: 'about a second',
    note: 'Give your library the local address of the key set and a cache of one second; the issuer stays.',
  },
  {
    id: 'curl',
    title: 'curl',
    file: 'in a shell',
    text: (
      verifier,
    ) => `# What verifiers load: the discovery document, the key set, and its keys as PEM.
curl -fsS ${shellWord(`${verifier.issuer}/.well-known/openid-configuration`)}
curl -fsS ${shellWord(verifier.jwksUri)}
curl -fsS ${shellWord(`${verifier.issuer}/.well-known/keys.pem`)}
`,
    trust: 'depends on its cache',
    note: 'For any other verifier: pin the algorithms, select the key by kid, check iss and aud, require exp, and use one cache per process.',
  },
]
