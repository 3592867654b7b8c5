import { invalidField, PubringError } from '../../errors.ts'
import { invalidRegistration } from '../../kernel/access/callers.ts'
import type { Principal, RequestContext } from '../../kernel/access/principal.ts'
import { apiKeyDigest, newApiKeySecret, parseApiKeySecret } from '../../kernel/access/secrets.ts'
import type { Context } from '../../kernel/context.ts'
import { collectFaults, notFound, type Submitted } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { Actor, LinkCreator } from '../../kernel/ledger/chain.ts'
import { requireId } from '../../kernel/managed-records.ts'
import { newId } from '../../kernel/values/ids.ts'
import { parseLabel } from '../../kernel/values/labels.ts'
import { isoTime, now, parseExpireTime } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { rejectPrivateKeys } from '../keys/exposure/incidents.ts'
import { issuerOf } from '../keys/jwks.ts'
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
import {
  findLink,
  findLinkBySecret,
  isProven,
  openedLinks,
  readKeysOfLinks,
  readLinks,
} from './reads.ts'
import { isLive, type LinkRecord } from './stored.ts'

const dayMs = 86_400_000

/** Creates a link. Throws every fault of its members, or `link_limit_reached`. */
export async function createLink(
  context: RequestContext,
  { fields, malformed }: Submitted<RegistrationLinkCreate>,
  projectId: string,
): Promise<RegistrationLinkCreated> {
  const { config, origin, store } = context
  const { note: text = '', returnUrl: url, algorithms: names, newKeys = 'inactive' } = fields
  await rejectPrivateKeys(context, { '/note': text, '': malformed?.text }, projectId)
  const { attempt, throwAny, faults } = collectFaults(malformed?.faults)
  const { time } = origin
  const isNoteSent = fields.note !== undefined
  const note = attempt(() => (isNoteSent ? parseLabel(text, '/note') : ''))
  const expireTime = attempt(() => parseEnd(fields.expireTime, time))
  const returnUrl = attempt(() => url && parseReturnUrl(url, config.returnOrigins))
  const algorithms = attempt(() => names && requireAccepted(names, config.algorithms))
  throwAny()
  if (note === undefined || expireTime === undefined) throw new Error(`${faults.length} faults`)
  const secret = newApiKeySecret()
  const link: LinkRecord = {
    projectId,
    id: newId(),
    note,
    digest: apiKeyDigest(secret),
    newKeys,
    ...present({ algorithms, returnUrl }),
    createdBy: creatorOf(origin.actor),
    createTime: time,
    expireTime,
  }
  await store.commit(linkChanges.createLink, { origin, projectId, id: link.id, link })
  return { ...toLink(link, [], time), url: `${config.publicUrl}/register#${secret}` }
}

function creatorOf({ apiKeyId, user, workload }: Actor): LinkCreator {
  return present({ apiKeyId, user, workload })
}

function parseEnd(text: string | undefined, time: string): string {
  const end = (days: number) => isoTime(Date.parse(time) + days * dayMs)
  if (text === undefined) return end(defaultDays)
  const expireTime = parseExpireTime(text, time)
  if (expireTime <= end(maxDays)) return expireTime
  const detail = `A registration link expires within ${maxDays} days.`
  throw invalidField('/expireTime', 'too_late', detail)
}

function parseReturnUrl(text: string, origins: readonly string[]): string {
  const url = URL.parse(text)
  const isPlain = url !== null && url.username === '' && url.password === ''
  if (isPlain && text.length <= maxUrlLength && origins.includes(url.origin)) return url.href
  const allowed = origins.length === 0 ? 'none is set' : `these are ${origins.join(', ')}`
  throw invalidField(
    '/returnUrl',
    'address_invalid',
    `returnUrl must be an address of at most ${maxUrlLength} characters whose origin is in PUBRING_RETURN_ORIGINS; ${allowed}.`,
  )
}

const maxUrlLength = 2_000

/** Names each algorithm once, in the order of the server. */
function requireAccepted<Name extends string>(names: readonly Name[], all: readonly Name[]) {
  const excluded = names.find((name) => !all.includes(name))
  if (excluded === undefined) return all.filter((name) => names.includes(name))
  const detail = `This server takes keys for ${all.join(', ')} only (PUBRING_ALGORITHMS).`
  throw invalidField('/algorithms', 'algorithm_not_allowed', detail)
}

/** The open links, and the newest of the others; the newest first. */
export async function listLinks(
  { store, clock }: Context,
  projectId: string,
): Promise<RegistrationLink[]> {
  const time = now(clock)
  const found = await readLinks(store.reader, projectId, time)
  const keysOf = await readKeysOfLinks(store.reader, projectId, found)
  return found.map((link) => toLink(link, keysOf(link), time))
}

/** Throws `link_not_found`. */
export async function getLink(
  { store, clock }: Context,
  projectId: string,
  id: string,
): Promise<RegistrationLink> {
  const link = await findLink(store.reader, projectId, requireId(id, 'link_not_found'))
  if (link === undefined) throw notFound('link_not_found')
  const keysOf = await readKeysOfLinks(store.reader, projectId, [link])
  return toLink(link, keysOf(link), now(clock))
}

/** Revokes the link. Throws `link_not_found`. */
export async function revokeLink(
  { store, origin }: RequestContext,
  projectId: string,
  id: string,
): Promise<void> {
  const parsed = requireId(id, 'link_not_found')
  await store.commit(linkChanges.revokeLink, { origin, projectId, id: parsed })
}

function toLink(link: LinkRecord, keys: string[], time: string): RegistrationLink {
  const { id, note, newKeys, algorithms, returnUrl, createTime, expireTime, openTime } = link
  const state = stateOf(link, time)
  const members = { id, note, newKeys, state, keys, createTime, expireTime }
  return { ...members, ...present({ algorithms, returnUrl, openTime }) }
}

function stateOf(link: LinkRecord, time: string): RegistrationLink['state'] {
  if (link.contradicted || link.revokeTime !== undefined) return 'revoked'
  if (link.openTime !== undefined) return 'used'
  return isLive(link, time) ? 'open' : 'expired'
}

/** What the browser that opens a link gets: the secret for its cookie, and what the page shows. */
interface Opened {
  secret: string
  session: RegistrationSession
}

/**
 * Opens the link with the secret for one browser, which may open it again with the secret in its cookie.
 * Throws `link_not_found`, which does not say why.
 */
export async function openLink(
  kernel: Kernel,
  submitted: {
    secret: string
    /** The secret in the cookie of the link. */
    inCookie(linkId: string): string | undefined
    requestId: string
  },
): Promise<Opened> {
  const { store, clock } = kernel
  const parsed = parseApiKeySecret(submitted.secret)
  const link = parsed && (await findLinkBySecret(store.reader, apiKeyDigest(parsed)))
  const time = now(clock)
  if (!link || !isLive(link, time)) throw unknownLink()
  const { id, projectId, createdBy } = link
  const known = parseApiKeySecret(submitted.inCookie(id) ?? '')
  if (known !== undefined && apiKeyDigest(known) === link.sessionDigest) {
    return { secret: known, session: await describeSession(kernel, id) }
  }
  const secret = newApiKeySecret()
  const change = { projectId, id, sessionDigest: apiKeyDigest(secret) }
  const actor = { name: '', link: { id, createdBy } }
  const origin = { actor, requestId: submitted.requestId, time }
  await store.commit(linkChanges.openLink, { ...change, origin }).catch((error) => {
    const isGone = error instanceof PubringError && /_not_found$/.test(error.code)
    throw isGone ? unknownLink() : error
  })
  return { secret, session: await describeSession(kernel, id) }
}

/** Records that the holder of the link proved to have the private key of one of its keys. */
export async function recordProof({ store, origin, principal }: RequestContext, key: KeyRecord) {
  const { link } = principal
  if (link === undefined || (await isProven(store.reader, link.id, key.id))) return
  const change = { origin, projectId: key.projectId, id: link.id, kid: key.id }
  await store.commit(linkChanges.recordProof, change)
}

export function unknownLink(): PubringError {
  return new PubringError(
    'link_not_found',
    'The link is not complete, was opened in another browser, has expired or was revoked. Ask the person who sent it for a new one.',
  )
}

/** The session of the caller. Throws `invalid_session` without one. */
export async function readSession(kernel: Kernel, { link }: Principal) {
  if (link === undefined) throw invalidRegistration()
  return describeSession(kernel, link.id)
}

async function describeSession(kernel: Kernel, id: string): Promise<RegistrationSession> {
  const { store, config } = kernel
  const { link } = (await openedLinks.find(store.reader, id)) ?? {}
  const project = link && (await store.identifyProject({ id: link.projectId }))
  if (link === undefined || project === undefined) throw invalidRegistration()
  const { projectId, note, newKeys, expireTime, returnUrl } = link
  const keysOf = await readKeysOfLinks(store.reader, projectId, [link])
  // The setting may have changed since the link was created.
  const isPermitted = config.returnOrigins.includes(URL.parse(returnUrl ?? '')?.origin ?? '')
  return {
    id,
    project: { id: project.id, name: project.name },
    issuer: issuerOf(config.publicUrl, projectId),
    note,
    newKeys,
    algorithms: config.algorithms.filter((name) => link.algorithms?.includes(name) ?? true),
    expireTime,
    ...present({ returnUrl: isPermitted ? returnUrl : undefined }),
    keys: keysOf(link),
  }
}
