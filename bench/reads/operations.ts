import type { Call } from '../load/task.ts'
import type { Target } from '../report/figures.ts'
import type { Engine } from '../server/databases.ts'
import type { Fixtures } from '../server/fixtures.ts'

/** A read, and how to tell that its response is correct. */
export interface Operation {
  name: string
  call(fixtures: Fixtures): Omit<Call, 'expected'>
  isCorrect(body: string, fixtures: Fixtures): boolean
  /** The operation whose baseline it is compared with; absent: its own. */
  baselineOf?: string
  targets: Record<Engine, Target>
}

const targets = (sqlite: number, postgres: number) => ({
  sqlite: { max: sqlite },
  postgres: { max: postgres },
})

export const operations: Operation[] = [
  {
    name: 'JWKS, 200',
    call: ({ three }) => get(jwks(three)),
    isCorrect: (body, { kids }) => hasValues(JSON.parse(body).keys, 'kid', kids),
    targets: targets(1.25, 1.35),
  },
  {
    name: 'JWKS, 304',
    call: ({ three, etag }) => get(jwks(three), { 'If-None-Match': etag }),
    isCorrect: (body) => body === '',
    baselineOf: 'JWKS, 200',
    targets: targets(1.15, 1.35),
  },
  {
    name: 'list of 3 keys',
    call: ({ three, apiKey }) => get(keys(three), { 'X-Api-Key': apiKey }),
    isCorrect: (body, { pems }) => hasValues(JSON.parse(body), 'publicKeyPem', pems.slice(0, 3)),
    targets: targets(1.5, 1.7),
  },
  {
    name: 'list of 50 keys',
    call: ({ fifty, apiKey }) => get(keys(fifty), { 'X-Api-Key': apiKey }),
    isCorrect: (body, { pems }) => hasValues(JSON.parse(body), 'publicKeyPem', pems),
    targets: targets(1.4, 1.4),
  },
  {
    name: 'read one key',
    call: ({ three, kids, apiKey }) => get(`${keys(three)}/${kids[0]}`, { 'X-Api-Key': apiKey }),
    isCorrect: (body, { pems }) => hasValues([JSON.parse(body)], 'publicKeyPem', pems.slice(0, 1)),
    targets: targets(2, 2),
  },
]

function get(path: string, headers: Record<string, string> = {}): Omit<Call, 'expected'> {
  return { method: 'GET', path, headers }
}

function jwks(project: string): string {
  return `/v1/projects/${project}/.well-known/jwks.json`
}

function keys(project: string): string {
  return `/v1/projects/${project}/jwt-keys`
}

function hasValues(items: Record<string, unknown>[], member: string, values: string[]): boolean {
  return JSON.stringify(items.map((item) => item[member])) === JSON.stringify(values)
}
