import { expect, test } from 'vitest'
import { eventTypes } from '../../../packages/server/src/kernel/ledger/chain.ts'
import {
  recordedChanges,
  type SubjectName,
  type SubjectRows,
} from '../../../packages/server/src/kernel/ledger/subjects.ts'
import type { PeopleRule } from '../../../packages/server/src/kernel/records.ts'

const id = '0197a1b2-0000-7000-8000-000000000001'
const projectId = '0197a1b2-0000-7000-8000-000000000002'
const digest = 'ab'.repeat(32)
const thumbprint = 'dGh1bWJwcmludA'
const createTime = '2026-01-02T03:04:05.678Z'
const updateTime = '2026-02-03T04:05:06.789Z'
const expireTime = '2027-01-02T03:04:05.678Z'
const issuer = 'https://issuer.test'

const rule: Omit<PeopleRule, 'for'> = {
  id,
  name: 'orders, deploy',
  issuer,
  conditions: { sub: 'orders', environment: 'production' },
  role: 'writer',
  projectId,
  enabled: true,
  createTime,
  updateTime,
}

/**
 * Records with every member. Stored ledgers contain what events say of such rows, so it must stay as it
 * is, byte for byte. Their values need not belong together.
 */
const records: { [Name in SubjectName]: SubjectRows[Name] } = {
  project: { id, name: 'payments', createTime, updateTime },
  key: {
    id,
    projectId,
    label: 'signer',
    algorithm: 'ES256',
    publicKeyPem: '-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n',
    enabled: true,
    expireTime,
    createTime,
    updateTime,
    publishTime: createTime,
    jwsAlgorithm: 'ES256',
    jwk: { kty: 'EC', crv: 'P-256', x: 'AQ', y: 'Ag' },
    bits: 256,
    thumbprint,
    spkiSha256: digest,
    materialSha256: digest,
    normalised: ['pkcs1', 'white_space'],
    publishedKid: 'signer-1',
    introducedBy: projectId,
    activateTime: createTime,
    contradicted: true,
  },
  rotation: {
    id,
    projectId,
    fromKid: 'old',
    toKid: 'new',
    tokenLifetime: 900,
    createTime,
    updateTime,
    outcome: 'finished',
    endTime: updateTime,
    contradicted: true,
  },
  api_key: {
    id,
    name: 'deploy',
    role: 'writer',
    projectId,
    prefix: 'pubring_ab',
    digest,
    enabled: true,
    createTime,
    expireTime,
    lastUseTime: updateTime,
    exchanged: { ruleId: projectId, issuer, subject: 'orders', successor: thumbprint },
    sessionId: id,
    contradicted: true,
  },
  session: {
    id,
    digest,
    person: {
      id: projectId,
      issuer,
      subject: 'ada',
      claims: { groups: ['platform'] },
      providerSessionId: 'sid',
    },
    apiKeyId: id,
    signInTime: createTime,
    createTime,
    expireTime,
    lastUseTime: updateTime,
    contradicted: true,
  },
  access_rule: {
    ...rule,
    for: 'workloads',
    keySource: 'jwksUri',
    jwksUri: 'https://issuer.test/jwks',
    jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'AQ' }] },
    audience: 'https://keys.example.com',
    singleUse: true,
    maxLifetime: 900,
    lastExchangeTime: updateTime,
  },
  published_kid: { kid: 'signer-1', thumbprint },
  blocked_fingerprint: { fingerprint: digest },
}

const ruleMembers = {
  name: 'orders, deploy',
  issuer,
  conditions: '{"sub":"orders","environment":"production"}',
  role: 'writer',
  projectId,
  active: true,
}

test.each([
  [
    'project',
    recordedChanges('project', undefined, records.project),
    {
      name: 'payments',
      state: 'c968c65e8c7de23d5304179c5e40053a02100b0fec78539ee0ce39ea0f51f40e',
    },
  ],
  [
    'key',
    recordedChanges('key', undefined, records.key),
    {
      label: 'signer',
      publishedKid: 'signer-1',
      algorithm: 'ES256',
      active: true,
      expireTime,
      thumbprint,
      spkiSha256: digest,
      normalised: 'pkcs1 white_space',
      introducedBy: projectId,
      state: '48c3c62e359385ec7da943a767c51e77c13d14bb8c55d158b26df97d34e2de07',
    },
  ],
  [
    'rotation',
    recordedChanges('rotation', undefined, records.rotation),
    {
      from: 'old',
      to: 'new',
      tokenLifetime: 900,
      outcome: 'finished',
      state: '5de4ba7e7ed408e2cdca3a21c603d74dfbb6c0bd13ce0ac3a8a497ba75552ccc',
    },
  ],
  [
    'API key',
    recordedChanges('api_key', undefined, records.api_key),
    {
      name: 'deploy',
      role: 'writer',
      projectId,
      active: true,
      expireTime,
      successor: thumbprint,
      state: '7559eb56c3f537e15d9bc073679ed51a9a382e272412a00fac52559de0545238',
    },
  ],
  [
    'session',
    recordedChanges('session', undefined, records.session),
    {
      personId: projectId,
      apiKeyId: id,
      signInTime: createTime,
      expireTime,
      state: '9d723fe2807b40b8e000d3e84087aaab6c79847b9d555dfb1adbdd530161a2ae',
    },
  ],
  [
    'access rule for workloads',
    recordedChanges('access_rule', undefined, records.access_rule),
    {
      for: 'workloads',
      ...ruleMembers,
      keySource: 'jwksUri',
      jwksUri: 'https://issuer.test/jwks',
      jwksSha256: '8320b644c246d8803a4423c1ce4ba7f6951cc3e70ce3565052c8577c5aca8597',
      audience: 'https://keys.example.com',
      singleUse: true,
      maxLifetime: 900,
      state: 'd31c1ed6f7e4fc8d82e60575540597e87bca2218f41e353e32a27dc42c4d9978',
    },
  ],
  [
    'access rule for people',
    recordedChanges('access_rule', undefined, { ...rule, for: 'people' }),
    {
      for: 'people',
      ...ruleMembers,
      state: '21ed4823641b8f388de7139f84e0c140506ed495601a7c6776e63adb662758b9',
    },
  ],
  [
    'published kid',
    recordedChanges('published_kid', undefined, records.published_kid),
    { thumbprint },
  ],
  [
    'blocked fingerprint',
    recordedChanges('blocked_fingerprint', undefined, records.blocked_fingerprint),
    {},
  ],
])('the members and the digest of one %s', (_subject, changes, members) => {
  const expected = Object.entries(members).map(([member, to]) => [member, { to }])
  expect(Object.entries(changes)).toEqual(expected)
})

test('the types of events', () => {
  expect(eventTypes).toEqual([
    'project.created',
    'project.renamed',
    'project.deleted',
    'project.recorded',
    'key.created',
    'key.updated',
    'key.deleted',
    'key.recorded',
    'key.weakness_found',
    'rotation.started',
    'rotation.updated',
    'rotation.finished',
    'rotation.abandoned',
    'rotation.recorded',
    'private_key.refused',
    'api_key.created',
    'api_key.updated',
    'api_key.deleted',
    'api_key.recorded',
    'ledger.accepted',
    'log.started',
    'session.created',
    'session.ended',
    'session.recorded',
    'person.deleted',
    'access_rule.created',
    'access_rule.updated',
    'access_rule.deleted',
    'access_rule.recorded',
    'access_rule.keys_ended',
    'token.exchanged',
  ])
})
