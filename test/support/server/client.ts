import { chownSync } from 'node:fs'
import { expect } from 'vitest'
import { ecKey } from '../keys/pem.ts'
import type { ServerProcess } from './process.ts'

export interface ServerResponse {
  status: number
  headers: Headers
  text: string
  /** Milliseconds. */
  ms: number
}

/** A client of a server process, with one API key. */
export interface ServerClient {
  /** Undefined if the connection failed, so that the outcome is unknown. */
  send(method: string, path: string, body?: unknown): Promise<ServerResponse | undefined>
  /** Registers a new key; returns its kid if it was acknowledged. */
  create(project?: string): Promise<string | undefined>
  kids(project?: string): Promise<string[]>
  jwks(project?: string): Promise<ServerResponse | undefined>
  health(which: 'live' | 'ready' | 'write'): Promise<ServerResponse | undefined>
}

const keysOf = (project: string) => `/v1/projects/${project}/jwt-keys`

export function createServerClient(
  server: Pick<ServerProcess, 'url'>,
  apiKey: string,
): ServerClient {
  async function send(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<ServerResponse | undefined> {
    const start = performance.now()
    try {
      const response = await fetch(server.url + path, {
        method,
        headers: { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const { status, headers } = response
      return { status, headers, text, ms: performance.now() - start }
    } catch {
      return undefined
    }
  }
  return {
    send,
    async create(project = 'default') {
      const body = { name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }
      const response = await send('POST', keysOf(project), body)
      return response?.status === 201 ? JSON.parse(response.text).kid : undefined
    },
    async kids(project = 'default') {
      const response = await send('GET', keysOf(project))
      expect(response?.status, response?.text).toBe(200)
      return JSON.parse(response?.text ?? '').map(({ id }: { id: string }) => id)
    },
    jwks: (project = 'default') => send('GET', `/v1/projects/${project}/.well-known/jwks.json`),
    health: (which) => send('GET', `/health/${which}`),
  }
}

export const freshPem = () => ecKey().publicKeyPem

/** Limits that no test reaches. */
export const highLimits = {
  PUBRING_MAX_KEYS_PER_PROJECT: '10000',
  PUBRING_MAX_JWKS_BYTES: '16777216',
  PUBRING_LOG_LEVEL: 'warn',
}

/** A user other than root, which may access every file. Undefined if the tests do not run as root. */
export function unprivilegedUid(): number | undefined {
  return process.getuid?.() === 0 ? 65_534 : undefined
}

/** Makes the unprivileged user the owner of the folder. */
export function chownToUnprivileged(folder: string): void {
  const uid = unprivilegedUid()
  if (uid !== undefined) chownSync(folder, uid, uid)
}

/** The code of the problem in the response. */
export function problemCode(response: ServerResponse | undefined): string {
  return JSON.parse(response?.text ?? '{}').code
}
