import { expect, test } from 'vitest'
import {
  accessRules,
  type PeopleRule,
} from '../../../packages/server/src/features/access-rules/stored.ts'
import { apiKeys } from '../../../packages/server/src/features/api-keys/stored.ts'
import { Event } from '../../../packages/server/src/features/events/contract.ts'
import { eventTypes } from '../../../packages/server/src/features/events/types.ts'
import {
  blockedFingerprints,
  keys,
  publishedKids,
} from '../../../packages/server/src/features/keys/stored.ts'
import { links } from '../../../packages/server/src/features/registration-links/stored.ts'
import { rotations } from '../../../packages/server/src/features/rotations/stored.ts'
import { sessions } from '../../../packages/server/src/features/sign-in/stored.ts'
import { features } from '../../../packages/server/src/features.ts'
import { projects } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import { subjectsOf } from '../../../packages/server/src/kernel/feature.ts'

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

const ruleMembers = {
  name: 'orders, deploy',
  issuer,
  conditions: '{"sub":"orders","environment":"production"}',
  role: 'writer',
  projectId,
  active: true,
}

/**
 * The records have every member; their values need not belong together. Stored ledgers contain what events
 * say of such rows, so it must stay as it is, byte for byte.
 */
test.each([
  [
    'project',
    projects.changes(undefined, { id, name: 'payments', createTime, updateTime }),
    {
      name: 'payments',
      state: 'c968c65e8c7de23d5304179c5e40053a02100b0fec78539ee0ce39ea0f51f40e',
    },
  ],
  [
    'key',
    keys.changes(undefined, {
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
    }),
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
      state: '25baab0c137de40fecf416ebd586987f3875afaa24a129538da5ef2c74ec79d4',
    },
  ],
  [
    'rotation',
    rotations.changes(undefined, {
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
    }),
    {
      from: 'old',
      to: 'new',
      tokenLifetime: 900,
      outcome: 'finished',
      state: '5de4ba7e7ed408e2cdca3a21c603d74dfbb6c0bd13ce0ac3a8a497ba75552ccc',
    },
  ],
  [
    'registration link',
    links.changes(undefined, {
      projectId,
      id,
      note: 'ACME',
      digest,
      newKeys: 'inactive',
      algorithms: ['ES256', 'EdDSA'],
      returnUrl: 'https://platform.example.com/',
      createdBy: { apiKeyId: id },
      createTime,
      expireTime,
      sessionDigest: digest,
      revokeTime: updateTime,
      contradicted: true,
    }),
    {
      newKeys: 'inactive',
      algorithms: 'ES256 EdDSA',
      expireTime,
      state: 'c95deba5ef3df420388e9b71545b9219aac7af77c10de048dbd10534d9c1ff6e',
    },
  ],
  [
    'API key',
    apiKeys.changes(undefined, {
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
    }),
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
    sessions.changes(undefined, {
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
      firstId: id,
      approvedBy: projectId,
      createTime,
      expireTime,
      lastUseTime: updateTime,
      contradicted: true,
    }),
    {
      personId: projectId,
      apiKeyId: id,
      signInTime: createTime,
      approvedBy: projectId,
      expireTime,
      state: '334dc64bea1e70d97a6368328532f60796950ce025b4c607ed398839397c49b4',
    },
  ],
  [
    'access rule for workloads',
    accessRules.changes(undefined, {
      ...rule,
      for: 'workloads',
      keySource: 'jwksUri',
      jwksUri: 'https://issuer.test/jwks',
      jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'AQ' }] },
      audience: 'https://keys.example.com',
      singleUse: true,
      maxLifetime: 900,
      lastExchangeTime: updateTime,
    }),
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
    accessRules.changes(undefined, { ...rule, for: 'people' }),
    {
      for: 'people',
      ...ruleMembers,
      state: '21ed4823641b8f388de7139f84e0c140506ed495601a7c6776e63adb662758b9',
    },
  ],
])('the members and the digest of one %s', (_subject, changes, members) => {
  const expected = Object.entries(members).map(([member, to]) => [member, { to }])
  expect(Object.entries(changes)).toEqual(expected)
})

test('what events say of published kids and blocked fingerprints', () => {
  const event = { ledgerId: projectId, revision: 1, time: createTime, actor: { name: '' } }
  const created = { type: 'key.created', subject: { type: 'key', id }, requestId: id }
  const changes = { publishedKid: { to: 'signer-1' }, thumbprint: { to: thumbprint } }
  expect(publishedKids.effects({ ...event, ...created, changes })).toEqual([
    { id: 'signer-1', action: 'set', changes: { thumbprint: { to: thumbprint } } },
  ])
  const refused = { type: 'private_key.refused', subject: { type: 'registry', id }, requestId: id }
  const hashes = { thumbprint: { to: thumbprint }, materialSha256: { to: digest } }
  expect(blockedFingerprints.effects({ ...event, ...refused, changes: hashes })).toEqual([
    { id: thumbprint, action: 'set', changes: {} },
    { id: digest, action: 'set', changes: {} },
  ])
})

test('every type of event that a feature has can be asked for', () => {
  const types = [
    ...subjectsOf(features).flatMap((subject) => subject.eventTypes),
    ...features.flatMap((feature) => feature.eventTypes ?? []),
  ]
  expect(types.toSorted()).toEqual(eventTypes.toSorted())
})

test('the schema of an event names every kind of subject that has events', () => {
  const named: string[] = Event.properties.subject.properties.type.enum
  for (const { name, eventTypes } of subjectsOf(features)) {
    if (eventTypes.some((type) => type.startsWith(`${name}.`))) expect(named).toContain(name)
  }
})
