import type { Call } from './load/task.ts'
import type { Target } from './report/figures.ts'
import type { Engine } from './server/subject.ts'
import type { Shelf } from './shelf.ts'

/** What is asked again and again, and how its answer is known to be right. */
export interface Operation {
  name: string
  call(shelf: Shelf): Omit<Call, 'expected'>
  isRight(body: string, shelf: Shelf): boolean
  /** The operation whose floor it is compared with, where that is not its own. */
  over?: string
  targets: Record<Engine, Target>
}

const both = (most: number) => ({ sqlite: { most }, postgres: { most } })

export const operations: Operation[] = [
  {
    name: 'JWKS, 200',
    call: ({ three }) => get(jwks(three)),
    isRight: (body, { kids }) => same(JSON.parse(body).keys, 'kid', kids),
    targets: both(1.2),
  },
  {
    name: 'JWKS, 304',
    call: ({ three, etag }) => get(jwks(three), { 'If-None-Match': etag }),
    isRight: (body) => body === '',
    over: 'JWKS, 200',
    targets: both(1.05),
  },
  {
    name: 'list of 3 keys',
    call: ({ three, apiKey }) => get(keys(three), { 'X-Api-Key': apiKey }),
    isRight: (body, { pems }) => same(JSON.parse(body), 'publicKeyPem', pems.slice(0, 3)),
    targets: { sqlite: { most: 1.5 }, postgres: { most: 1.6 } },
  },
  {
    name: 'list of 50 keys',
    call: ({ fifty, apiKey }) => get(keys(fifty), { 'X-Api-Key': apiKey }),
    isRight: (body, { pems }) => same(JSON.parse(body), 'publicKeyPem', pems),
    targets: both(1.4),
  },
  {
    name: 'read one key',
    call: ({ three, kids, apiKey }) => get(`${keys(three)}/${kids[0]}`, { 'X-Api-Key': apiKey }),
    isRight: (body, { pems }) => same([JSON.parse(body)], 'publicKeyPem', pems.slice(0, 1)),
    targets: both(2),
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

function same(found: Record<string, unknown>[], member: string, wanted: string[]): boolean {
  return JSON.stringify(found.map((each) => each[member])) === JSON.stringify(wanted)
}
