import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificate {
  /** PEM. */
  cert: string
  key: string
}

/** A certificate that signed itself, for one host. */
export function makeCertificate(host = 'localhost'): Certificate {
  return inFolder((run, read) => {
    run(`${newCertificate} -keyout key.pem -out cert.pem ${namesOf([host])}`)
    return { cert: read('cert.pem'), key: read('key.pem') }
  })
}

type SignedCertificate = Certificate & { ca: string }

/** Made once for the same hosts, since tests start many servers. */
const signed = new Map<string, SignedCertificate>()

/** A certificate for the hosts, signed by an authority of its own. */
export function signedCertificate(hosts: readonly string[]): SignedCertificate {
  const name = hosts.join()
  const certificate = signed.get(name) ?? makeSignedCertificate(hosts)
  signed.set(name, certificate)
  return certificate
}

function makeSignedCertificate(hosts: readonly string[]): SignedCertificate {
  return inFolder((run, read) => {
    run(`${newCertificate} -keyout ca-key.pem -out ca.pem -subj /CN=Authority`)
    run(
      `${newCertificate} -CA ca.pem -CAkey ca-key.pem -keyout key.pem -out cert.pem ${namesOf(hosts)} -addext basicConstraints=CA:FALSE`,
    )
    return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') }
  })
}

const newCertificate = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'

function namesOf(hosts: readonly string[]): string {
  const names = hosts.map((host) => (/^[\d.]+$/.test(host) ? `IP:${host}` : `DNS:${host}`))
  return `-subj /CN=${hosts[0]} -addext subjectAltName=${names.join(',')}`
}

function inFolder<Result>(
  make: (run: (command: string) => void, read: (name: string) => string) => Result,
): Result {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  try {
    return make(
      (command) => void execFileSync('openssl', command.split(' '), { cwd: folder, stdio: 'pipe' }),
      (name) => readFileSync(join(folder, name), 'utf8'),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}
