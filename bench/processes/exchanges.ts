import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createReplicas, type Replica } from '../../test/support/server/replicas.ts'
import type { BenchConfig } from '../config.ts'
import { cpuMicros, residentMib } from '../load/usage.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { type Databases, type Engine, engineNames } from '../server/databases.ts'

const issuer = 'https://issuer.example.com'
const audience = 'https://keys.example.com'
const concurrency = 16
const exchangesPerSecond = 100

/** Each address and each rule may exchange 600 tokens a minute, and many share the load. */
const spread = 200

/** Lists are read of the project whose ledger the exchanges move, and of another. */
const projects = ['exchanges', 'default']

/** Refusals measured of each kind. */
const refusals = 20

/**
 * The CPU time of a token exchange (P-256, with the keys of the issuer in memory), what reads cost while
 * tokens are exchanged, and when refusals are sent.
 */
export async function measureExchanges(
  databases: Databases,
  engine: Engine,
  { exchanges, exchangeReads }: Pick<BenchConfig, 'exchanges' | 'exchangeReads'>,
): Promise<Figure[]> {
  const database = await databases.create(engine)
  const replicas = createReplicas(database.url)
  try {
    const replica = await replicas.add({ PUBRING_TRUST_PROXY: 'true' })
    const pids = [replica.pid]
    const { rules, newToken } = await createRules(replica)
    let exchanged = 0
    const exchange = () => {
      exchanged += 1
      return exchangeToken(replica, newToken(), {
        rule: rules[exchanged % spread] ?? '',
        address: `192.0.2.${exchanged % spread}`,
      })
    }
    await repeat(500, exchange)
    const alone: number[] = []
    for (const name of projects) alone.push(await readCost(replica, pids, name, exchangeReads))
    const idle = residentMib(pids)
    const before = cpuMicros(pids)
    await repeat(exchanges, exchange)
    const micros = (cpuMicros(pids) - before) / exchanges
    const peak = residentMib(pids)
    const beside: number[] = []
    for (const name of projects) {
      beside.push(await readCostBeside(replica, pids, { name, reads: exchangeReads, exchange }))
    }
    const refused = await refusalTimes(replica, newToken)
    const figure = (name: string, unit: string, value: number, note: string): Figure => {
      return { name, server: engineNames[engine], unit, value: spreadOf([value]), note }
    }
    return [
      {
        ...figure('token exchange', 'µs CPU', micros, 'P-256, keys of the issuer in memory'),
        target: { max: 2_000 },
      },
      figure('memory for the exchanges', 'MiB', peak - idle, `more after ${exchanges} than before`),
      ...projects.flatMap((name, index) => [
        figure('list without exchanges', 'µs CPU', alone[index] ?? 0, `of the project ${name}`),
        figure(
          'list beside 100 exchanges/s',
          'µs CPU',
          beside[index] ?? 0,
          `of the project ${name}`,
        ),
      ]),
      ...refused.map(({ name, times }): Figure => {
        return { ...figure(name, 'ms', 0, 'refused'), value: spreadOf(times) }
      }),
    ]
  } finally {
    await replicas.close()
  }
}

/** Creates rules for tokens of a new key, and returns their ids and a function that makes tokens. */
async function createRules(
  replica: Replica,
): Promise<{ rules: string[]; newToken: (members?: object) => string }> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig' }
  await replica.call('POST', '/v1/projects', { name: 'exchanges' })
  const rules: string[] = []
  for (let index = 0; index < spread; index += 1) {
    const { status, body } = await replica.call('POST', '/v1/access-rules', {
      for: 'workloads',
      name: `bench ${index}`,
      issuer,
      jwks: { keys: [jwk] },
      audience,
      conditions: { repository_id: '74', ref: 'refs/heads/*' },
      role: 'writer',
      project: 'exchanges',
      maxLifetime: 60,
    })
    if (status !== 201) throw new Error(`the rule was not created: ${status}`)
    rules.push(JSON.parse(body).id)
  }
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'ES256', kid: 'k', typ: 'JWT' })
  const newToken = (members?: object) => {
    const iat = Math.floor(Date.now() / 1_000)
    const claims = { iss: issuer, aud: audience, sub: 'repo:acme/orders', jti: randomUUID(), iat }
    const others = { exp: iat + 300, repository_id: '74', ref: 'refs/heads/main' }
    const input = `${header}.${encode({ ...claims, ...others, ...members })}`
    const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
    return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
  }
  return { rules, newToken }
}

async function exchangeToken(
  replica: Replica,
  token: string,
  { rule, address }: { rule: string; address: string },
): Promise<void> {
  const response = await sendToken(replica, token, { rule }, { 'x-forwarded-for': address })
  if (!response.ok) {
    throw new Error(`a token was not exchanged: ${response.status} ${await response.text()}`)
  }
  await response.arrayBuffer()
}

function sendToken(
  { url }: Replica,
  token: string,
  parameters = {},
  headers = {},
): Promise<Response> {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: token,
    ...parameters,
  })
  return fetch(`${url}/v1/token`, { method: 'POST', body, headers })
}

/** Milliseconds to the refusal of tokens that come more or less close to being accepted. */
async function refusalTimes(
  replica: Replica,
  newToken: (members?: object) => string,
): Promise<{ name: string; times: number[] }[]> {
  const kinds: [name: string, token: () => string][] = [
    ['a text that is no token', () => 'token'],
    ['a token of an unknown issuer', () => newToken({ iss: 'https://other.example.com' })],
    ['a token with an altered signature', () => `${newToken().slice(0, -8)}AAAAAAAA`],
    ['a token that meets no condition', () => newToken({ repository_id: '75' })],
  ]
  const results = kinds.map(([name]) => ({ name, times: [] as number[] }))
  for (let round = 0; round < refusals; round += 1) {
    for (const [index, [, token]] of kinds.entries()) {
      const start = performance.now()
      const { status } = await sendToken(replica, token())
      if (status !== 400) throw new Error(`a token was not refused: ${status}`)
      results[index]?.times.push(performance.now() - start)
    }
  }
  return results
}

async function repeat(count: number, work: () => Promise<unknown>): Promise<void> {
  let left = count
  const worker = async () => {
    while (left > 0) {
      left -= 1
      await work()
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

/** Microseconds of CPU for each list of the keys of a project. */
async function readCost(
  replica: Replica,
  pids: number[],
  name: string,
  reads: number,
): Promise<number> {
  const before = cpuMicros(pids)
  await repeat(reads, () => replica.call('GET', `/v1/projects/${name}/jwt-keys`))
  return (cpuMicros(pids) - before) / reads
}

/** The same while tokens are exchanged, less what these cost at the same rate without reads. */
async function readCostBeside(
  replica: Replica,
  pids: number[],
  { name, reads, exchange }: { name: string; reads: number; exchange: () => Promise<void> },
): Promise<number> {
  const before = cpuMicros(pids)
  const exchangedAlone = await countWhile(exchange, () => delay(3_000))
  const exchangeMicros = (cpuMicros(pids) - before) / exchangedAlone
  let cost = 0
  const exchanged = await countWhile(exchange, async () => {
    cost = await readCost(replica, pids, name, reads)
  })
  return cost - (exchanged * exchangeMicros) / reads
}

/** Exchanges tokens at a steady rate while something else runs, and counts them. */
async function countWhile(
  exchange: () => Promise<void>,
  run: () => Promise<unknown>,
): Promise<number> {
  const exchanges: Promise<void>[] = []
  const timer = setInterval(() => exchanges.push(exchange()), 1_000 / exchangesPerSecond)
  await run()
  clearInterval(timer)
  await Promise.all(exchanges)
  return exchanges.length
}
