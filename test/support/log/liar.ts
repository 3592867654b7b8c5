import { generateKeyPairSync } from 'node:crypto'
import { startHttpServer } from '../network/http-server.ts'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** A key that no project has registered. */
export const foreignKey = {
  jwk: { ...publicKey.export({ format: 'jwk' }), use: 'sig', kid: 'foreign', alg: 'ES256' },
  privateKey,
}

/**
 * A server that passes on the responses of another one, and lies: it has what TLS needs, and not the key of
 * the log.
 */
export async function createLiar(target: string) {
  const frozen = new Map<string, { status: number; headers: Headers; body: Buffer }>()
  const forged = new Map<string, () => Promise<string>>()
  let addition: { jwk: object; raisedBy: number; only: string } | undefined
  let dropped: string | undefined

  /** Asks for the whole key set, and not to wait. */
  async function ask(path: string) {
    const known = frozen.get(path)
    if (known !== undefined) return known
    const response = await fetch(`${target}${path}`)
    const { status, headers } = response
    const body = Buffer.from(await response.arrayBuffer())
    const forge = forged.get(path)
    return { status, headers, body: forge === undefined ? body : Buffer.from(await forge()) }
  }
  function lieAbout(path: string, { headers, body }: { headers: Headers; body: Buffer }) {
    if (addition === undefined || !body.toString().startsWith('{"keys"')) return body
    const { jwk, raisedBy, only } = addition
    if (!path.includes(only)) return body
    const [revision = '', hash] = (headers.get('pubring-revision') ?? '').split('.')
    if (raisedBy > 0) headers.set('pubring-revision', `${Number(revision) + raisedBy}.${hash}`)
    headers.delete('etag')
    return JSON.stringify({ keys: [...JSON.parse(body.toString()).keys, jwk] })
  }
  const server = await startHttpServer(async (request, response) => {
    const { url = '' } = request
    const answer = await ask(url)
    const headers = new Headers(answer.headers)
    const body = lieAbout(url, { headers, body: answer.body })
    for (const name of [dropped, 'content-length', 'content-encoding', 'connection']) {
      if (name !== undefined) headers.delete(name)
    }
    response.setHeaders(headers)
    response.writeHead(answer.status).end(body)
  })
  return {
    url: server.url,
    /** Adds a key to each key set from now on, or to those whose path has `only`, and raises its revision. */
    add(jwk: object, raisedBy = 0, only = ''): void {
      addition = { jwk, raisedBy, only }
    },
    /** From now on answers each of these paths as now. */
    async freeze(...paths: string[]): Promise<void> {
      for (const path of paths) frozen.set(path, await ask(path))
    },
    /** From now on answers the path with what this makes. */
    forge(path: string, make: () => Promise<string>): void {
      forged.set(path, make)
    },
    dropHeader(name: string): void {
      dropped = name
    },
  }
}
