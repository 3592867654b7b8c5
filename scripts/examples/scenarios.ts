import { setTimeout as delay } from 'node:timers/promises'
import type { Project } from './registry.ts'
import { algorithms, badTokens, goodToken, newSigner, type Signer } from './tokens.ts'
import type { Verifier } from './verifier.ts'

/** Seconds until a verifier changed its mind; null if it did not while it was watched. */
export type Seconds = number | null

/** The algorithm of the key that is added to a project without one of it. */
export const newAlgorithm = 'ES256'

/** How long a new key after an empty set is waited for. */
const afterEmptySeconds = 60

export interface Watch {
  /** Between two requests. */
  intervalMs: number
  limitMs: number
}

/** The measurements of a verifier. */
export interface Measurements {
  /** The members of `algorithms` whose tokens were accepted. */
  algorithms: string[]
  bad: { asked: string[]; taken: string[] }
  /** From deactivating one of several keys until it was refused. */
  oneOff: Seconds
  /** From deactivating the only key until it was refused. */
  lastOff: Seconds
  /** From registering a key after that until it was accepted. */
  afterEmpty: Seconds
  newKey: Seconds
  newAlgorithm: Seconds
  /** From the server's end until a key was refused; null if it was still accepted at the end. */
  outage: Seconds
  /** Keys that were refused while they were active. */
  broken: string[]
}

export interface Subject {
  project: Project
  verifier: Verifier
  watch: Watch
}

export type Scenario = (
  subject: Subject,
  keys: PreparedKey[],
  /** Stops the server of the project once all that watch an outage are ready. */
  stopServer: () => Promise<void>,
) => Promise<Partial<Measurements>>

export interface PreparedKey {
  signer: Signer
  kid: string
  token: string
}

/** Registers a key of the algorithm. */
export async function prepareKey(project: Project, algorithm?: string): Promise<PreparedKey> {
  const signer = newSigner(algorithm)
  const kid = await project.register(signer)
  return { signer, kid, token: goodToken(signer, kid, project.issuer) }
}

/** Each gets a service and a project of its own, with keys of `algorithms`. */
export const scenarios: Record<string, { algorithms: readonly string[]; run: Scenario }> = {
  'bad tokens': { algorithms: ['RS256'], run: tryBadTokens },
  'one of several keys': { algorithms: ['RS256', ...algorithms], run: deactivateOne },
  'the last key': { algorithms: ['RS256'], run: deactivateLast },
  'new keys': { algorithms: ['RS256'], run: addKeys },
  outage: { algorithms: ['RS256'], run: loseServer },
}

/** With one key in the set: some libraries take it for a token without a kid. */
async function tryBadTokens(
  { project, verifier }: Subject,
  [key]: PreparedKey[],
): Promise<Partial<Measurements>> {
  if (key === undefined) throw new Error('a key is needed')
  await requireAccepted(verifier, key)
  const bad = { asked: [] as string[], taken: [] as string[] }
  for (const [name, token] of Object.entries(badTokens(key.signer, key.kid, project.issuer))) {
    bad.asked.push(name)
    // Envoy says 403 of an audience that is not its own.
    if (![401, 403].includes(await verifier.ask(token))) bad.taken.push(name)
  }
  return { bad }
}

async function deactivateOne(
  { project, verifier, watch }: Subject,
  [first, second, ...others]: PreparedKey[],
): Promise<Partial<Measurements>> {
  if (first === undefined || second === undefined) throw new Error('two keys are needed')
  await requireAccepted(verifier, first, second)
  const found = ['RS256']
  for (const { signer, token } of others) {
    if (await accepts(verifier, token)) found.push(signer.algorithm)
  }
  await project.deactivate(first.kid)
  const oneOff = await secondsUntil(watch, async () => !(await accepts(verifier, first.token)))
  const broken = (await accepts(verifier, second.token)) ? [] : ['the other key']
  return { algorithms: found, oneOff, broken }
}

async function deactivateLast(
  { project, verifier, watch }: Subject,
  [key]: PreparedKey[],
): Promise<Partial<Measurements>> {
  if (key === undefined) throw new Error('a key is needed')
  await requireAccepted(verifier, key)
  await project.deactivate(key.kid)
  const lastOff = await secondsUntil(watch, async () => !(await accepts(verifier, key.token)))
  const next = await prepareKey(project)
  const limitMs = Math.min(watch.limitMs, 1_000 * afterEmptySeconds)
  const afterEmpty = await secondsUntil({ ...watch, limitMs }, () => accepts(verifier, next.token))
  return { lastOff, afterEmpty }
}

/** Adds an ML-DSA key first, which must not disturb the others. */
async function addKeys(
  { project, verifier, watch }: Subject,
  [key]: PreparedKey[],
): Promise<Partial<Measurements>> {
  if (key === undefined) throw new Error('a key is needed')
  await requireAccepted(verifier, key)
  await prepareKey(project, 'ML-DSA-44')
  const same = await prepareKey(project)
  const other = await prepareKey(project, newAlgorithm)
  const broken = new Set<string>()
  const accepted = async (token: string): Promise<boolean> => {
    if (!(await accepts(verifier, key.token))) broken.add('the key beside new ones')
    return accepts(verifier, token)
  }
  const [sameSeconds, otherSeconds] = await Promise.all([
    secondsUntil(watch, () => accepted(same.token)),
    secondsUntil(watch, () => accepted(other.token)),
  ])
  return { newKey: sameSeconds, newAlgorithm: otherSeconds, broken: [...broken] }
}

async function loseServer(
  { verifier, watch }: Subject,
  [key]: PreparedKey[],
  stopServer: () => Promise<void>,
): Promise<Partial<Measurements>> {
  if (key === undefined) throw new Error('a key is needed')
  await requireAccepted(verifier, key)
  await stopServer()
  return { outage: await secondsUntil(watch, async () => !(await accepts(verifier, key.token))) }
}

export async function accepts(verifier: Verifier, token: string): Promise<boolean> {
  return (await verifier.ask(token)) === 200
}

/** How long a gateway may refuse all because its follower does not run yet. */
const followerStartMs = 60_000

export async function requireAccepted(verifier: Verifier, ...keys: PreparedKey[]): Promise<void> {
  const start = performance.now()
  for (const { token } of keys) {
    let status = await verifier.ask(token)
    while (status >= 500 && performance.now() - start < followerStartMs) {
      await delay(200)
      status = await verifier.ask(token)
    }
    if (status !== 200) throw new Error(`responds to a good token with ${status}`)
  }
}

export async function secondsUntil(
  { intervalMs, limitMs }: Watch,
  isDone: () => Promise<boolean>,
): Promise<Seconds> {
  const start = performance.now()
  for (;;) {
    if (await isDone()) return Math.round((performance.now() - start) / 100) / 10
    if (performance.now() - start > limitMs) return null
    await delay(intervalMs)
  }
}
