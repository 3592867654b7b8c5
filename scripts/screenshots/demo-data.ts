import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { type Algorithm, createClient } from '../../client/src/index.ts'
import { rememberSecret } from '../../test/support/secrets.ts'

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

/** Fills a new registry with the keys and callers of a fictional company. */
export async function createDemoData(url: string, apiKey: string): Promise<DemoData> {
  const client = createClient({ url, apiKey })
  const { id } = await client.projects.create({ name: 'payments' })
  for (const name of ['orders', 'identity', 'warehouse']) await client.projects.create({ name })
  const pipeline = await client.apiKeys.create({
    name: 'deploy pipeline',
    role: 'writer',
    project: 'payments',
    expireTime: new Date(Date.now() + 90 * day).toISOString(),
  })
  await client.apiKeys.create({ name: 'dashboards', role: 'reader' })
  const laptop = await client.apiKeys.create({ name: 'laptop of Ada', role: 'admin' })
  await client.apiKeys.update(laptop.id, { active: false })
  const deploy = createClient({ url, apiKey: rememberSecret('an API key', pipeline.apiKey) })
  const register = (name: string, algorithm: Algorithm, key: KeyObject, days?: number) =>
    deploy.keys.create(id, {
      name,
      algorithm,
      publicKeyPem: key.export({ type: 'spki', format: 'pem' }).toString(),
      ...(days && { expireTime: new Date(Date.now() + days * day).toISOString() }),
    })
  const rsa = () => generateKeyPairSync('rsa', { modulusLength: 3072 })
  const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const old = await register('payments service, winter', 'RSA', rsa().publicKey)
  const signer = ec()
  const { kid } = await register('payments service, spring', 'ES256', signer.publicKey)
  await register('refunds job', 'EdDSA', generateKeyPairSync('ed25519').publicKey, 40)
  await client.keys.update(id, old.kid, { active: false })
  const { issuer } = await client.jwks.discovery(id)
  const token = await new SignJWT({ sub: 'order-4711', scope: 'refund' })
    .setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience('refunds')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(signer.privateKey)
  const publicKeyPem = ec().publicKey.export({ type: 'spki', format: 'pem' }).toString()
  return { project: id, current: kid, token: rememberSecret('a token', token), publicKeyPem }
}
