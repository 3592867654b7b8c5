import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { type Algorithm, type Client, createClient } from '../../packages/client/src/index.ts'
import { rememberSecret } from '../../test/support/secrets.ts'
import { waitUntil } from '../../test/support/waiting.ts'

/** The data that the pictures show. */
export type DemoData = {
  /** The id of the project that most pictures show. */
  project: string
  /** The kid of the key that is in use. */
  current: string
  /** Signed by the key in use, for its own audience, valid for an hour. */
  token: string
  /** A key that is not registered. */
  publicKeyPem: string
}

const day = 86_400_000

const rsa = () => generateKeyPairSync('rsa', { modulusLength: 3072 })
const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed25519 = () => generateKeyPairSync('ed25519')
const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString()

/** Sets the clock of the server to so many days from now; negative is earlier. */
type SetClock = (days: number) => Promise<void>

// Long because it is one story in the order of time.
/** Fills a new registry with a year and a half of a fictional company. */
export async function createDemoData(
  url: string,
  apiKey: string,
  setClock: SetClock,
): Promise<DemoData> {
  const admin = createClient({ url, apiKey })
  const now = Date.now()
  const inDays = (days: number) => new Date(now + days * day).toISOString()
  const register = async (
    client: Client,
    project: string,
    [name, algorithm, key, days]: [string, Algorithm, KeyObject, number?],
  ) => {
    const expiry = days === undefined ? {} : { expireTime: inDays(days) }
    const body = { name, algorithm, publicKeyPem: pemOf(key), ...expiry }
    return (await client.keys.create(project, body)).kid
  }
  const off = (client: Client, project: string, kid: string) =>
    client.keys.update(project, kid, { active: false })

  await setClock(-520)
  const { id } = await admin.projects.create({ name: 'payments' })
  for (const name of ['orders', 'identity', 'warehouse']) await admin.projects.create({ name })
  await admin.apiKeys.create({ name: 'dashboards', role: 'reader' })
  const laptop = await admin.apiKeys.create({ name: 'laptop of Ada', role: 'admin' })
  const pipeline = await admin.apiKeys.create({
    name: 'deploy pipeline',
    role: 'writer',
    project: id,
  })
  const deploy = createClient({ url, apiKey: rememberSecret('an API key', pipeline.apiKey) })
  const first = await register(deploy, id, ['payments service, 2025', 'RSA', rsa().publicKey])
  const orders = await register(admin, 'orders', ['orders service', 'ES256', ec().publicKey, 6])
  await register(admin, 'warehouse', ['warehouse', 'EdDSA', ed25519().publicKey])
  const identity = await register(admin, 'identity', ['identity provider', 'RSA', rsa().publicKey])

  await setClock(-300)
  const winter = await register(deploy, id, ['payments service, winter', 'RSA', rsa().publicKey])
  await setClock(-285)
  await off(deploy, id, first)
  await setClock(-240)
  await deploy.keys.delete(id, first)
  await register(deploy, id, ['refunds job', 'EdDSA', ed25519().publicKey, 19])
  await setClock(-150)
  await register(deploy, id, [
    'reports',
    'ES384',
    generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey,
    -20,
  ])
  await admin.apiKeys.update(laptop.id, { active: false })
  await setClock(-60)
  const signer = ec()
  const current = await register(deploy, id, [
    'payments service, spring',
    'ES256',
    signer.publicKey,
  ])
  const { id: rotation } = await deploy.rotations.start(id, {
    from: winter,
    to: current,
    tokenLifetime: 900,
  })
  await setClock(-48)
  await deploy.rotations.finish(id, rotation)
  await setClock(-46)
  await deploy.keys.update(id, winter, { active: true, expireTime: null })
  await setClock(-40)
  await off(deploy, id, winter)
  await off(admin, 'identity', identity)

  await setClock(-2)
  const summer = await register(deploy, id, ['payments service, summer', 'ES256', ec().publicKey])
  await admin.rotations.start(id, { from: current, to: summer, tokenLifetime: 900 })

  await setClock(0)
  await admin.keys.update('orders', orders, { label: 'orders service, 2025' })
  await register(deploy, id, ['payouts job', 'EdDSA', ed25519().publicKey])
  const { issuer } = await admin.jwks.discovery(id)
  const token = await new SignJWT({ sub: 'order-4711', scope: 'refund' })
    .setProtectedHeader({ alg: 'ES256', kid: current, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience('refunds')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(signer.privateKey)
  const publicKeyPem = pemOf(ec().publicKey)
  // Uses are written every ten seconds; until then each API key has a warning that it was never used.
  await waitUntil(async () => (await admin.apiKeys.self()).lastUseTime !== undefined)
  return { project: id, current, token: rememberSecret('a token', token), publicKeyPem }
}
