import { invalidField } from '../../errors.ts'
import { invalidRegistration } from '../../kernel/access/callers.ts'
import type { Principal, RequestContext } from '../../kernel/access/principal.ts'
import { apiKeyDigest, newApiKeySecret, parseApiKeySecret } from '../../kernel/access/secrets.ts'
import type { Context, CoreConfig } from '../../kernel/context.ts'
import { collectFaults, notFound, type Submitted } from '../../kernel/faults.ts'
import { changeOf, requireId } from '../../kernel/managed-records.ts'
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
import { lifetimeDays, type RegistrationLink, type RegistrationLinkCreate } from './contract.ts'
import { findBySecret, findLink, isProven, readLinks } from './reads.ts'
import { isLive, type LinkRecord, links } from './stored.ts'

/** Throws every fault of the members, or `link_limit_reached`. */
async function createLink(
  context: RequestContext,
  { fields, malformed }: Submitted<RegistrationLinkCreate>,
  projectId: string,
) {
  const { config, origin, store } = context
  const { note: text, newKeys = 'inactive', algorithms, returnUrl: url } = fields
  await rejectPrivateKeys(context, { '/note': text, '': malformed?.text }, projectId)
  const { attempt, throwAny } = collectFaults(malformed?.faults)
  const { time, actor } = origin
  const note = attempt(() => (text === undefined ? undefined : parseLabel(text, '/note')))
  const expireTime = attempt(() => parseEnd(fields.expireTime, time))
  const returnUrl = attempt(() => url && parseReturnUrl(url, config))
  for (const name of algorithms ?? []) attempt(() => requireAllowed(name, config, '/algorithms'))
  throwAny()
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
  return { ...toLink(context, link, []), url: `${config.publicUrl}/register#${secret}` }
}

function parseEnd(text: string | undefined, time: string): string {
  const end = (days: number) => isoTime(Date.parse(time) + days * 86_400_000)
  const expireTime = text === undefined ? end(lifetimeDays.default) : parseExpireTime(text, time)
  if (expireTime <= end(lifetimeDays.max)) return expireTime
  throw invalidField('/expireTime', 'too_late', `A link expires within ${lifetimeDays.max} days.`)
}

function parseReturnUrl(text: string, config: CoreConfig): string {
  const { href = '' } = URL.parse(text) ?? {}
  if (isPermitted(href, config)) return href
  const origins = config.returnOrigins.join(', ') || 'none'
  const detail = `returnUrl must be an address of at most ${maxUrlLength} characters whose origin is in PUBRING_RETURN_ORIGINS (${origins}).`
  throw invalidField('/returnUrl', 'address_invalid', detail)
}

const maxUrlLength = 2_000

const isPermitted = (href: string, { returnOrigins }: CoreConfig) =>
  href.length <= maxUrlLength && returnOrigins.some((origin) => href.startsWith(`${origin}/`))

/** The open links, and the newest of the others; the newest first. */
async function listLinks(context: Context, _principal: unknown, projectId: string) {
  const { keys } = await requireKeySet(context, projectId)
  const found = await readLinks(context.store.reader, projectId, now(context.clock))
  return found.map((link) => toLink(context, link, keys))
}

async function getLink(context: Context, _principal: unknown, id: string, projectId: string) {
  const known = requireId(id, 'link_not_found')
  const { keys } = await requireKeySet(context, projectId)
  return toLink(context, await findLink(context.store.reader, projectId, known), keys)
}

async function revokeLink(context: RequestContext, link: { id: string }, projectId: string) {
  const change = { ...changeOf(context, link, 'link_not_found'), projectId }
  await context.store.commit(linkChanges.revokeLink, change)
}

export const operations = { create: createLink, list: listLinks, read: getLink, delete: revokeLink }

function toLink(context: Context, link: LinkRecord, all: readonly KeyRecord[]): RegistrationLink {
  const { id, note, newKeys, algorithms, createTime, expireTime, returnUrl = '' } = link
  const members = { id, note, newKeys, createTime, expireTime, ...present({ algorithms }) }
  const state = stateOf(link, now(context.clock))
  const keys = visibleKeys(all, link).map((key) => key.id)
  // The setting may have changed since the link was created.
  const wayBack = isPermitted(returnUrl, context.config) && { returnUrl }
  return { ...members, ...wayBack, state, keys }
}

function stateOf(link: LinkRecord, time: string): RegistrationLink['state'] {
  if (link.contradicted || link.revokeTime !== undefined) return 'revoked'
  if (link.sessionDigest !== undefined) return 'used'
  return isLive(link, time) ? 'open' : 'expired'
}

/**
 * Opens the link with the secret for one browser, which may open it again with the secret in its cookie.
 * Returns that secret, and what the page shows. Throws `link_not_found`, which does not say why.
 */
export async function openLink(
  context: Context,
  sent: { secret: string; inCookie(linkId: string): string | undefined; requestId: string },
) {
  const { store, clock } = context
  const parsed = parseApiKeySecret(sent.secret)
  const link = parsed && (await findBySecret(store.reader, apiKeyDigest(parsed)))
  const time = now(clock)
  if (!link || !isLive(link, time)) throw notFound('link_not_found')
  const { id, projectId, createdBy } = link
  const known = parseApiKeySecret(sent.inCookie(id) ?? '')
  const isBack = known !== undefined && apiKeyDigest(known) === link.sessionDigest
  const secret = isBack ? known : newApiKeySecret()
  const sessionDigest = apiKeyDigest(secret)
  if (!isBack) {
    const origin = { actor: { name: '', link: { id, createdBy } }, requestId: sent.requestId, time }
    await store.commit(linkChanges.openLink, { origin, projectId, id, sessionDigest })
  }
  return { secret, session: await describeSession(context, { ...link, sessionDigest }) }
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

async function describeSession(context: Context, link: LinkRecord) {
  const { publicUrl, algorithms } = context.config
  const { name, keys } = await requireKeySet(context, link.projectId)
  return {
    ...toLink(context, link, keys),
    project: { id: link.projectId, name },
    issuer: issuerOf(publicUrl, link.projectId),
    algorithms: algorithms.filter((each) => link.algorithms?.includes(each) ?? true),
  }
}
