import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { freePort } from '../test/support/server/process.ts'

/*
 * A real Keycloak. Needs Java 17, OpenSSL, curl and unzip. Keycloak (170 MB) is loaded from Maven Central
 * once, into KEYCLOAK_CACHE or the folder for temporary files.
 */

const version = '26.7.3'
const archive = `keycloak-quarkus-dist-${version}.zip`
const source = `https://repo1.maven.org/maven2/org/keycloak/keycloak-quarkus-dist/${version}/${archive}`
const cache = process.env.KEYCLOAK_CACHE ?? join(tmpdir(), 'pubring-keycloak')
const home = join(cache, `keycloak-${version}`)

const admin = { name: 'admin', password: 'trial-admin' }
export const realm = 'trial'

function load(): void {
  if (existsSync(home)) return
  mkdirSync(cache, { recursive: true })
  run('curl', ['-sSfL', '-o', join(cache, archive), source])
  run('unzip', ['-q', '-d', cache, join(cache, archive)])
}

/** Returns the output; throws with that for errors if the command fails. */
function run(command: string, args: string[], cwd?: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Writes `ca.pem` and, issued by it for localhost, `server.pem` with `server.key`. */
function createCertificates(folder: string): void {
  const openssl = (text: string) => run('openssl', text.split(' '), folder)
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc'
  openssl(`req -x509 ${key} -days 30 -subj /CN=Trial -keyout ca.key -out ca.pem`)
  openssl(`req ${key} -subj /CN=localhost -keyout server.key -out server.csr`)
  writeFileSync(join(folder, 'san'), 'subjectAltName=DNS:localhost\n')
  openssl('x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days 30 -extfile san -out server.pem')
}

/** A Keycloak with the realm. */
export interface Keycloak {
  issuer: string
  /** Its token endpoint, also over plain http. */
  tokens: { issuer: string; tokenEndpoint: string }
  /** Runs kcadm.sh, the administration on the command line. */
  administer(...args: string[]): string
  stop(): Promise<void>
}

/** Starts Keycloak, with its certificate (`ca.pem`) in the folder. */
export async function startKeycloak(folder: string): Promise<Keycloak> {
  load()
  createCertificates(folder)
  const [httpsPort, httpPort, managementPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  const url = `https://localhost:${httpsPort}`
  const issuer = `${url}/realms/${realm}`
  const args = [
    `--hostname=${url}`,
    `--https-port=${httpsPort}`,
    // For kcadm.sh alone, which would need a trust store.
    `--http-port=${httpPort}`,
    `--http-management-port=${managementPort}`,
    `--https-certificate-file=${join(folder, 'server.pem')}`,
    `--https-certificate-key-file=${join(folder, 'server.key')}`,
    '--db=dev-mem',
  ]
  const child = spawn(join(home, 'bin/kc.sh'), ['start-dev', ...args], {
    env: {
      ...process.env,
      JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
      KC_BOOTSTRAP_ADMIN_USERNAME: admin.name,
      KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => child.kill())
  await listening(child)
  const settings = ['--config', join(folder, 'kcadm.config')]
  const administer = (...rest: string[]) => run(join(home, 'bin/kcadm.sh'), [...rest, ...settings])
  const server = ['--server', `http://localhost:${httpPort}`, '--realm', 'master']
  const credentials = ['--user', admin.name, '--password', admin.password]
  administer('config', 'credentials', ...server, ...credentials)
  return {
    issuer,
    tokens: {
      issuer,
      tokenEndpoint: `http://localhost:${httpPort}/realms/${realm}/protocol/openid-connect/token`,
    },
    administer,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill()
      await ended
    },
  }
}

function listening(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += String(chunk)
    if (/Listening on:/.test(output)) resolve()
  })
  child.once('exit', () => reject(new Error(output)))
  return promise
}
