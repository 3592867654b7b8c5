import type { PeopleRule } from '../../../packages/server/src/features/access-rules/stored.ts'
import { signInChanges } from '../../../packages/server/src/features/sign-in/changes.ts'
import type {
  PersonRecord,
  SessionRecord,
} from '../../../packages/server/src/features/sign-in/stored.ts'
import {
  apiKeyDigest,
  newApiKeySecret,
} from '../../../packages/server/src/kernel/access/secrets.ts'
import type { Store } from '../../../packages/server/src/kernel/context.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { rememberSecret } from '../secrets.ts'
import { origin } from './store.ts'

export const issuer = 'https://id.example.com'

/** A session of a person in the group `platform`, or of an API key; valid for the next hour. */
export function sessionRecord(
  members: Partial<SessionRecord>,
  secret = rememberSecret('the secret of a session', newApiKeySecret()),
): SessionRecord {
  const now = Date.now()
  return {
    id: newId(),
    digest: apiKeyDigest(secret),
    signInTime: new Date(now).toISOString(),
    createTime: new Date(now).toISOString(),
    expireTime: new Date(now + 3_600_000).toISOString(),
    lastUseTime: new Date(now).toISOString(),
    ...members,
  }
}

/** A rule that makes every person in the group `platform` an admin. */
export function ruleRecord(members: Partial<PeopleRule> = {}): PeopleRule {
  return {
    id: newId(),
    for: 'people',
    name: 'platform',
    issuer,
    conditions: { groups: 'platform' },
    role: 'admin',
    enabled: true,
    createTime: origin().time,
    updateTime: origin().time,
    ...members,
  }
}

/** Signs a person in, as the provider would have it. */
export async function createPersonSession(
  store: Store,
  members: Partial<SessionRecord> = {},
  {
    name = 'Ada Lovelace',
    subject = newId(),
    email = 'ada@example.com',
    groups = ['staff', 'platform'],
  } = {},
) {
  const secret = rememberSecret('the secret of a session', newApiKeySecret())
  const time = new Date().toISOString()
  const claims = { iss: issuer, sub: subject, groups }
  const person: PersonRecord = {
    id: newId(),
    issuer,
    subject,
    name,
    email,
    claims,
    firstSignInTime: time,
    lastSignInTime: time,
  }
  const identity = { id: person.id, issuer, subject, claims }
  const session = await store.commit(signInChanges.createSession, {
    origin: { ...origin(time), actor: { name: '', user: { issuer, subject, sessionId: newId() } } },
    session: sessionRecord({ person: identity, ...members }, secret),
    person,
  })
  return { secret, session, person: { ...person, id: session.person?.id ?? '' } }
}
