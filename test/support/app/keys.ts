import { expect } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { ecKey } from '../keys/pem.ts'
import type { TestApp } from './app.ts'

export const keysUrl = '/v1/projects/payments/jwt-keys'
export const keyUrl = (kid: string) => `${keysUrl}/${kid}`
export const jwksUrl = '/v1/projects/payments/.well-known/jwks.json'

interface KeyMembers {
  name?: string
  algorithm?: string
  publicKeyPem?: string
  active?: boolean
  expireTime?: string
  publishedKid?: string
}

/** Registers a key, by default a new P-256 key; returns its kid. */
export async function registerKey(
  server: TestApp,
  members: KeyMembers = {},
  url = keysUrl,
): Promise<string> {
  const { publicKeyPem } = members.publicKeyPem === undefined ? ecKey() : { publicKeyPem: '' }
  const body = { name: 'n', algorithm: 'ES256', publicKeyPem, ...members }
  const response = await server.send('POST', url, { body })
  expect(response.statusCode, response.body).toBe(201)
  return response.json().kid
}

export async function patchKey(
  server: TestApp,
  kid: string,
  patch: object,
  url = keysUrl,
): Promise<void> {
  const response = await server.send('PATCH', `${url}/${kid}`, { body: patch })
  expect(response.statusCode, response.body).toBe(200)
}

export interface TestProject {
  id: string
  name: string
  keys: string
  jwks: string
  fullJwks: string
}

/** A project of its own, so that tests can share a server. */
export async function newProject(server: TestApp, name: string): Promise<TestProject> {
  const response = await server.send('POST', '/v1/projects', { body: { name } })
  expect(response.statusCode, response.body).toBe(201)
  const base = `/v1/projects/${name}`
  const { id } = response.json()
  const folder = `${base}/.well-known`
  const jwks = `${folder}/jwks.json`
  return { id, name, keys: `${base}/jwt-keys`, jwks, fullJwks: `${folder}/jwks-full.json` }
}

/** How many requests for key sets the server holds. It must have metrics. */
export async function heldRequests({ app }: TestApp): Promise<number | undefined> {
  const gauge = await app.metrics?.getSingleMetric('pubring_held_requests')?.get()
  return gauge?.values[0]?.value
}

/** Updates the key directly in the store, as another process would, bypassing the app's caches. */
export async function patchKeyInStore(
  server: TestApp,
  projectId: string,
  kid: string,
  patch: { active?: boolean; label?: string },
): Promise<void> {
  await server.context.store.commit(keyChanges.updateKey, {
    origin: { actor: { name: 'other' }, requestId: 'x', time: new Date().toISOString() },
    projectId,
    kid,
    patch,
    limits: { maxKeys: 50, maxJwksBytes: 51_200 },
  })
}

/** The kids of a JWKS document. */
export function kidsOf(jwks: string): string[] {
  return JSON.parse(jwks).keys.map(({ kid }: { kid: string }) => kid)
}

/** Requests the key set anonymously. */
export function fetchJwks(server: TestApp, headers: Record<string, string> = {}, url = jwksUrl) {
  return server.inject({ method: 'GET', url, headers })
}

/** The seconds of `Cache-Control: public, max-age=N`. */
export function maxAgeOf(headers: Record<string, unknown>): number {
  const [, seconds] = /^public, max-age=(\d+)$/.exec(String(headers['cache-control'])) ?? []
  return Number(seconds)
}
