import { type JWTPayload, jwtVerify } from 'jose'
import { expect, onTestFinished, vi } from 'vitest'
import {
  type KeySetOptions,
  type KeySetState,
  type ProjectKeySet,
  projectKeySet,
} from '../../../client/src/verify.ts'
import type { Algorithm, JwsAlgorithm } from '../../../src/contract/algorithms.ts'
import { jwsAlgorithm, keyFor, signToken } from '../keys/tokens.ts'
import type { TestApp } from './app.ts'

/** A key set under test, and all that it told of itself. */
export interface WatchedKeySet {
  keys: ProjectKeySet
  states: KeySetState[]
  /** Resolves once it is in such a state, or tells of one. */
  waitForState(isIt: (state: KeySetState) => boolean): Promise<void>
}

/** A key set of the project, closed after the test. */
export function openKeySet(url: string, options: KeySetOptions = {}): WatchedKeySet {
  const states: KeySetState[] = []
  const keys = projectKeySet(url, { ...options, onChange: (state) => states.push(state) })
  onTestFinished(() => keys.close())
  const waitForState = async (isIt: (state: KeySetState) => boolean) => {
    const seen = states.length
    const isReached = () => isIt(keys.state()) || states.slice(seen).some(isIt)
    await vi.waitUntil(isReached, { timeout: 20_000, interval: 5 })
  }
  return { keys, states, waitForState }
}

/** A registered key and a token that is signed with it. */
export interface SignedToken {
  kid: string
  token: string
}

/** Registers a new key in the project of the app, and signs with it. */
export async function registerAndSign(
  server: TestApp,
  algorithm: Algorithm = 'ES256',
  options: { project?: string; alg?: JwsAlgorithm; expireTime?: string } = {},
): Promise<SignedToken> {
  const { project = server.project.id, alg = jwsAlgorithm(algorithm), ...more } = options
  const { publicKeyPem, privateKey } = keyFor(algorithm)
  const body = { name: algorithm, algorithm, publicKeyPem, ...more }
  const answer = await server.send('POST', `/v1/projects/${project}/jwt-keys`, { body })
  expect(answer.statusCode).toBe(201)
  const { kid } = answer.json()
  return { kid, token: signToken(privateKey, { alg, kid }, { sub: 'alice' }) }
}

export async function setActive(server: TestApp, kid: string, active: boolean): Promise<void> {
  const path = `/v1/projects/${server.project.id}/jwt-keys/${kid}`
  const answer = await server.send('PATCH', path, { body: { active } })
  expect(answer.statusCode).toBe(200)
}

/** The claims of the token, or the code of what jose throws. */
export async function verifyResult(
  keys: ProjectKeySet,
  token: string,
): Promise<JWTPayload | string> {
  try {
    return (await jwtVerify(token, keys)).payload
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}
