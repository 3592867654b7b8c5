import { invalidField } from '../../errors.ts'
import { invalidRegistration } from '../../kernel/access/callers.ts'
import type { Principal, RequestContext } from '../../kernel/access/principal.ts'
import { apiKeyDigest, newApiKeySecret, parseApiKeySecret } from '../../kernel/access/secrets.ts'
import type { Context } from '../../kernel/context.ts'
import { collectFaults, notFound, type Submitted } from '../../kernel/faults.ts'
import { requireId } from '../../kernel/managed-records.ts'
import type { RecordReference } from '../../kernel/records.ts'
import { newId } from '../../kernel/values/ids.ts'
import { parseLabel } from '../../kernel/values/labels.ts'
import { isoTime, now, parseExpireTime } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { rejectPrivateKeys } from '../keys/exposure/incidents.ts'
import { visibleKeys } from '../keys/introduction.ts'
import { issuerOf } from '../keys/jwks.ts'
import { requireKeySet } from '../keys/operations.ts'
import { requireAllowed } from '../keys/registration/submission.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { linkChanges } from './changes.ts'
import {
  defaultDays,
  maxDays,
  type RegistrationLink,
  type RegistrationLinkCreate,
  type RegistrationLinkCreated,
  type RegistrationSession,
} from './contract.ts'
import { findBySecret, findLink, isProven, readLinks } from './reads.ts'
import { isLive, type LinkRecord, links } from './stored.ts'

/** Creates a link. Throws every fault of its members, or `link_limit_reached`. */
export async function createLink(
  context: RequestContext,
  { fields, malformed }: Submitted<RegistrationLinkCreate>,
  projectId: string,
): Promise<RegistrationLinkCreated> {
  const { config, origin, store } = context
  const { note: text, returnUrl: url, algorithms: names, newKeys = 'inactive' } = fields
  await rejectPrivateKeys(context, { '/note': text, '': malformed?.text }, projectId)
  const { attempt, throwAny } = collectFaults(malformed?.faults)
  const { time, actor } = origin
  const note = attempt(() => (text === undefined ? undefined : parseLabel(text, '/note')))
  const expireTime = attempt(() => parseEnd(fields.expireTime, time))
  const returnUrl = attempt(() => url && parseReturnUrl(url, config.returnOrigins))
  for (const name of names ?? []) attempt(() => requireAllowed(name, config, '/algorithms'))
  throwAny()
  // Each once, in the order of the server.
  const algorithms = names && config.algorithms.filter((name) => names.includes(name))
  if (note === undefined || expireTime === undefined) throw new Error('a fault was not reported')
  const secret = newApiKeySecret()
  const { apiKeyId, user, workload } = actor
  const link: LinkRecord = {
    projectId,
    id: newId(),
    note,
    digest: apiKeyDigest(secret),
    newKeys,
    ...present({ algorithms, returnUrl }),
    createdBy: present({ apiKeyId, user, workload }),
    createTime: time,
    expireTime,
  }
  await store.commit(linkChanges.createLink, { origin, projectId, id: link.id, link })
  return { ...toLink(link, [], time), url: `${config.publicUrl}/register#${secret}` }
}

function parseEnd(text: string | undefined, time: string): string {
  const end = (days: number) => isoTime(Date.parse(time) + days * 86_400_000)
  if (text === undefined) return end(defaultDays)
  const expireTime = parseExpireTime(text, time)
  if (expireTime <= end(maxDays)) return expireTime
  const detail = `A registration link expires within ${maxDays} days.`
  throw invalidField('/expireTime', 'too_late', detail)
}

const maxUrlLength = 2_000

function parseReturnUrl(text: string, origins: readonly string[]): string {
  const url = URL.parse(text)
  const isPlain = url !== null && url.username === '' && url.password === ''
  if (isPlain && text.length <= maxUrlLength && origins.includes(url.origin)) return url.href
  const allowed = origins.length === 0 ? 'none is set' : `these are ${origins.join(', ')}`
  const detail = `returnUrl must be an address of at most ${maxUrlLength} characters whose origin is in PUBRING_RETURN_ORIGINS; ${allowed}.`
  throw invalidField('/returnUrl', 'address_invalid', detail)
}

/** The open links, and the newest of the others; the newest first. */
export async function listLinks(
  context: Context,
  _principal: unknown,
  projectId: string,
): Promise<RegistrationLink[]> {
  const time = now(context.clock)
  const { keys } = await requireKeySet(context, projectId)
  const found = await readLinks(context.store.reader, projectId, time)
  return found.map((link) => toLink(link, keys, time))
}

/** Throws `link_not_found`. */
export async function getLink(
  context: Context,
  _principal: unknown,
  id: string,
  projectId: string,
): Promise<RegistrationLink> {
  const known = requireId(id, 'link_not_found')
  const { keys } = await requireKeySet(context, projectId)
  const link = await findLink(context.store.reader, projectId, known)
  return toLink(link, keys, now(context.clock))
}

/** Revokes the link. Throws `link_not_found`. */
export async function revokeLink(
  { store, origin }: RequestContext,
  link: Pick<RecordReference, 'id'>,
  projectId: string,
): Promise<void> {
  const id = requireId(link.id, 'link_not_found')
  await store.commit(linkChanges.revokeLink, { origin, projectId, id })
}

/** `keys`: all those of the project. */
function toLink(link: LinkRecord, keys: readonly KeyRecord[], time: string): RegistrationLink {
  const { id, note, newKeys, algorithms, returnUrl, createTime, expireTime, openTime } = link
  const members = { id, note, newKeys, keys: idsOf(keys, link), createTime, expireTime }
  const state = stateOf(link, time)
  return { ...members, state, ...present({ algorithms, returnUrl, openTime }) }
}

/** The ids of the keys that came through the link. */
const idsOf = (keys: readonly KeyRecord[], link: LinkRecord) =>
  visibleKeys(keys, link).map(({ id }) => id)

function stateOf(link: LinkRecord, time: string): RegistrationLink['state'] {
  if (link.contradicted || link.revokeTime !== undefined) return 'revoked'
  if (link.openTime !== undefined) return 'used'
  return isLive(link, time) ? 'open' : 'expired'
}

/**
 * Opens the link with the secret for one browser, which may open it again with the secret in its cookie.
 * Returns that secret, and what the page shows. Throws `link_not_found`, which does not say why.
 */
export async function openLink(
  context: Context,
  sent: { secret: string; inCookie(linkId: string): string | undefined; requestId: string },
): Promise<{ secret: string; session: RegistrationSession }> {
  const { store, clock } = context
  const parsed = parseApiKeySecret(sent.secret)
  const link = parsed && (await findBySecret(store.reader, apiKeyDigest(parsed)))
  const time = now(clock)
  if (!link || !isLive(link, time)) throw notFound('link_not_found')
  const { id, projectId, createdBy } = link
  const known = parseApiKeySecret(sent.inCookie(id) ?? '')
  if (known !== undefined && apiKeyDigest(known) === link.sessionDigest) {
    return { secret: known, session: await describeSession(context, link) }
  }
  const own = newApiKeySecret()
  const origin = { actor: { name: '', link: { id, createdBy } }, requestId: sent.requestId, time }
  const change = { origin, projectId, id, sessionDigest: apiKeyDigest(own) }
  await store.commit(linkChanges.openLink, change)
  return { secret: own, session: await describeSession(context, link) }
}

/** Records that the holder of the link proved to have the private key of one of its keys. */
export async function recordProof({ store, origin, principal }: RequestContext, key: KeyRecord) {
  const { link } = principal
  if (link === undefined || (await isProven(store.reader, link.id, key.id))) return
  const change = { origin, projectId: key.projectId, id: link.id, kid: key.id }
  await store.commit(linkChanges.recordProof, change)
}

/** The session of the caller. Throws `invalid_session` without one. */
export async function readSession(context: Context, principal: Principal) {
  const link = principal.link && (await links.find(context.store.reader, principal.link.id))
  if (link === undefined) throw invalidRegistration()
  return describeSession(context, link)
}

async function describeSession(context: Context, link: LinkRecord): Promise<RegistrationSession> {
  const { config } = context
  const { id, projectId, note, newKeys, expireTime, returnUrl } = link
  const { name, keys } = await requireKeySet(context, projectId)
  // The setting may have changed since the link was created.
  const isPermitted = config.returnOrigins.includes(URL.parse(returnUrl ?? '')?.origin ?? '')
  return {
    id,
    project: { id: projectId, name },
    issuer: issuerOf(config.publicUrl, projectId),
    note,
    newKeys,
    algorithms: config.algorithms.filter((each) => link.algorithms?.includes(each) ?? true),
    expireTime,
    ...present({ returnUrl: isPermitted ? returnUrl : undefined }),
    keys: idsOf(keys, link),
  }
}
