import { hash } from 'node:crypto'
import { expect } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import type { JwtKeyUpdate } from '../../../packages/server/src/features/keys/contract.ts'
import { isoTime } from '../../../packages/server/src/kernel/values/times.ts'
import { ecKey, type TestKey } from '../keys/pem.ts'
import { signToken } from '../keys/tokens.ts'
import { publicUrl, startApp, type TestApp } from './app.ts'
import { stoppedClock } from './clock.ts'
import { keysUrl, registerKey } from './keys.ts'

/** The state of a key from a time on: what the last change left. */
interface Moment {
  time: number
  enabled: boolean
  expireMs?: number
}

interface ModelKey extends TestKey {
  kid: string
  moments: Moment[]
  isCompromised: boolean
  isDeleted: boolean
}

/** Whether the key was active at a time (epoch milliseconds), by the last change up to then. */
export function wasActive({ moments }: ModelKey, ms: number): boolean {
  const last = moments.findLast(({ time }) => time <= ms)
  return last?.enabled === true && (last.expireMs === undefined || ms < last.expireMs)
}

const maxKeys = 12

export interface GeneratedHistory {
  server: TestApp
  seed: string
  keys: readonly ModelKey[]
  /** Times around every change and every end of the key, in the past. */
  timesOf(key: ModelKey): number[]
  issuer: string
}

/** The same numbers from 0 to below 1 for the same seed. */
function randomOf(seed: string): () => number {
  let count = 0
  return () => hash('sha256', `${seed} ${count++}`, 'buffer').readUInt32BE() / 2 ** 32
}

/** A project with so many random changes of keys, and a model of it. */
export async function generateHistory(changes: number, seed: string): Promise<GeneratedHistory> {
  const random = randomOf(seed)
  const ahead = stoppedClock()
  // In the past, because nobody may ask about the future.
  const clock = { ...ahead, now: () => ahead.now() - 365 * 86_400_000 }
  const server = await startApp({ clock })
  const projectId = server.project.id
  const all: ModelKey[] = []
  const below = (limit: number) => Math.floor(random() * limit)
  const limits = { maxKeys: 50, maxJwksBytes: 51_200 }
  const originNow = () => ({ actor: { name: 'model' }, requestId: 'x', time: isoTime(clock.now()) })

  async function register(): Promise<void> {
    const key = ecKey()
    const enabled = random() < 0.8
    const members = { publicKeyPem: key.publicKeyPem, active: enabled }
    const kid = await registerKey(server, members, keysUrl)
    const moments = [{ time: clock.now(), enabled }]
    all.push({ ...key, kid, moments, isCompromised: false, isDeleted: false })
  }

  async function patch(key: ModelKey, change: JwtKeyUpdate): Promise<void> {
    await server.context.store.commit(keyChanges.updateKey, {
      origin: originNow(),
      projectId,
      kid: key.kid,
      patch: change,
      limits,
    })
    const last = key.moments.at(-1)
    const { active = last?.enabled === true, expireTime } = change
    const kept = last?.expireMs
    const expireMs =
      expireTime === undefined ? kept : expireTime ? Date.parse(expireTime) : undefined
    const end = expireMs === undefined ? {} : { expireMs }
    key.moments.push({ time: clock.now(), enabled: active, ...end })
    if (change.reason === 'compromised') key.isCompromised = true
  }

  async function change(): Promise<void> {
    const living = all.filter(({ isDeleted }) => !isDeleted)
    const key = living[below(living.length)]
    if (key === undefined || (living.length < maxKeys && random() < 0.1)) return register()
    const isOn = wasActive(key, clock.now())
    const expireTime = isoTime(clock.now() + 1 + below(8_000))
    const roll = random()
    if (!isOn && roll < 0.02) {
      const { kid } = key
      await server.context.store.commit(keyChanges.deleteKey, {
        origin: originNow(),
        projectId,
        kid,
      })
      key.isDeleted = true
    } else if (roll < 0.03) await patch(key, { active: false, reason: 'compromised' })
    else if (roll < 0.1) await patch(key, { label: `n${below(1_000)}` })
    else if (isOn && roll < 0.5) await patch(key, { active: false })
    else if (isOn && roll < 0.6) await patch(key, { expireTime: null })
    else if (isOn || key.isCompromised) await patch(key, { expireTime })
    else await patch(key, { active: true, expireTime: roll < 0.6 ? null : expireTime })
  }

  for (let count = 0; count < changes; count += 1) {
    // Often in the same millisecond, as changes of a busy project are.
    if (random() < 0.7) clock.advance(below(2_000))
    await change()
  }
  clock.advance(10_000)
  return {
    server,
    seed,
    keys: all,
    timesOf({ moments }) {
      const ends = moments.flatMap(({ time, expireMs = time }) => [time, expireMs])
      return [...new Set(ends.flatMap((ms) => [ms - 1, ms, ms + 1]))].filter(
        (ms) => ms <= clock.now(),
      )
    },
    issuer: `${publicUrl}/v1/projects/${projectId}`,
  }
}

/** Compares the verdicts of token checks at so many random times of each key with those of the model. */
export async function expectSameVerdicts(
  { server, seed, keys, timesOf, issuer }: GeneratedHistory,
  perKey: number,
): Promise<void> {
  const random = randomOf(`${seed} probes`)
  for (const key of keys) {
    const times = timesOf(key)
    for (let probe = 0; probe < perKey; probe += 1) {
      const ms = times[Math.floor(random() * times.length)] ?? 0
      const byIat = random() < 0.2
      const iat = Math.floor(ms / 1_000)
      const token = signToken(key.privateKey, { alg: 'ES256', kid: key.kid }, { iss: issuer, iat })
      const at = byIat ? 'iat' : isoTime(ms)
      const body = { token, at }
      const url = '/v1/projects/payments/token-checks'
      const report = (await server.send('POST', url, { body })).json()
      const isActive = wasActive(key, byIat ? iat * 1_000 : ms)
      const valid = !key.isDeleted && isActive && !(byIat && key.isCompromised)
      expect([at, report.valid], `seed ${seed}, ${JSON.stringify(report)}`).toEqual([at, valid])
    }
  }
}
