/// <reference types="vite/client" />
import { shellWord } from '../../components/shell.ts'
import aws from './snippets/aws-jwt-verify.js.txt?raw'
import curl from './snippets/curl.sh.txt?raw'
import follower from './snippets/follower.sh.txt?raw'
import haproxy from './snippets/haproxy.sh.txt?raw'
import jose from './snippets/jose.js.txt?raw'
import jsonwebtoken from './snippets/jsonwebtoken.js.txt?raw'
import python from './snippets/verify.py.txt?raw'

export type Verifier = {
  issuer: string
  jwksUri: string
  /** The JWS algorithms of the active keys, without duplicates. */
  algorithms: string[]
  audience: string
}

/** The setup of one verifier. The tests run every one against a real server. */
export type Snippet = {
  id: string
  title: string
  file: string
  text: (verifier: Verifier) => string
  trust: string
  note: string
}

/** A string literal of JavaScript and of Python. */
function literal(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inner}'`
}

/** A string in double quotes in the configuration of HAProxy, where $ starts a variable. */
const haproxyString = (text: string): string => `"${text.replace(/[\\"$]/g, '\\$&')}"`

/** The text with the values of the verifier in place of their names in braces, each quoted as the language wants it. */
const filled = (text: string, quote: (value: string) => string) => (verifier: Verifier) => {
  const [server = '', project = ''] = verifier.issuer.split('/v1/projects/')
  const values: Record<string, string> = {
    issuer: quote(verifier.issuer),
    jwksUri: quote(verifier.jwksUri),
    audience: quote(verifier.audience),
    algorithms: verifier.algorithms.map(quote).join(', '),
    server: shellWord(server),
    project,
  }
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole)
}

export const snippets: Snippet[] = [
  {
    id: 'node-jose',
    title: 'Node, jose',
    file: 'verify.js · npm install jose',
    text: filled(jose, literal),
    trust: '1 minute',
    note: 'This is cacheMaxAge; the default is 10 minutes.',
  },
  {
    id: 'node-jsonwebtoken',
    title: 'Node, jsonwebtoken',
    file: 'verify.js · npm install jsonwebtoken jwks-rsa',
    text: filled(jsonwebtoken, literal),
    trust: '1 minute',
    note: 'This is cacheMaxAge; the default is 10 minutes. It supports RSA and EC keys, but neither Ed25519 nor ML-DSA.',
  },
  {
    id: 'node-aws',
    title: 'Node, aws-jwt-verify',
    file: 'verify.js · npm install aws-jwt-verify',
    text: filled(aws, literal),
    trust: '1 minute',
    note: 'It never drops a key on its own: the timer refreshes the JWKS. It uses the alg of each published key, and only https URLs.',
  },
  {
    id: 'python',
    title: 'Python, PyJWT',
    file: 'verify.py · pip install "pyjwt[crypto]"',
    text: filled(python, literal),
    trust: '1 minute',
    note: 'This is lifespan; the default is 5 minutes. Leave cache_keys off: with it, keys are cached indefinitely.',
  },
  {
    id: 'haproxy',
    title: 'HAProxy, live',
    file: 'run.sh · HAProxy 2.6 or later, in a checkout of Pubring or where its package is installed',
    text: filled(haproxy, haproxyString),
    trust: 'about a second',
    note: 'The follower holds a request open at the server. It supports RSA and EC keys, and tokens with one audience.',
  },
  {
    id: 'follower',
    title: 'Any library, live',
    file: 'in a shell, in a checkout of Pubring or where its package is installed',
    text: filled(follower, shellWord),
    trust: 'about a second',
    note: 'Give your library the local address of the key set and a cache of one second; the issuer stays.',
  },
  {
    id: 'curl',
    title: 'curl',
    file: 'in a shell',
    text: filled(curl, shellWord),
    trust: 'depends on its cache',
    note: 'For any other verifier: pin the algorithms, select the key by kid, check iss and aud, require exp, and use one cache per process.',
  },
]
