/** The previous hash of the first event of every ledger. */
export const genesisHash = '0'.repeat(64)

/** The members of an event that its hash covers. */
export type ChainedEvent = {
  /** A project's id, or the nil UUID for the system's ledger. */
  ledgerId: string
  revision: number
  type: string
  /** ISO 8601, UTC. */
  time: string
  /** The hash covers `user` or `link` alone if the actor has one: the name can be erased. */
  actor: { name: string; user?: object | undefined; link?: object | undefined }

  subject: object
  changes?: object
  published?: object
  requestId: string
}

/** An event whose content has been compared with its hash; `revision` 0 stands before the first. */
export type ChainPosition = { revision: number; hash: string }

/** The text whose SHA-256, in lower-case hex, is the content digest of the event: all but `published`. */
export function contentText(event: ChainedEvent): string {
  const { ledgerId, revision, type, time, subject, changes, requestId } = event
  const { user, link } = event.actor
  const named = user === undefined && link === undefined
  const actor = named ? event.actor : { user, link }
  return canonicalJson({ ledgerId, revision, type, time, actor, subject, changes, requestId })
}

/** What the hash of an event is computed from. It tells what a project publishes, and not what happened. */
export type ChainLink = {
  /** The hash of the previous event. */
  previous: string
  /** The SHA-256 of `contentText`, in lower-case hex. */
  contentDigest: string
  /** The `published` of the event. */
  published?: object | undefined
}

/**
 * The text whose SHA-256, in lower-case hex, is the hash of the event. Editing, dropping or reordering an
 * event breaks every later hash.
 */
export function chainText({ previous, contentDigest, published }: ChainLink): string {
  const digests = published === undefined ? '' : canonicalJson(published)
  return `${previous}\n${contentDigest}\n${digests}`
}

/** Why an event with this revision cannot follow; undefined if it can. */
export function gapBefore(revision: unknown, previous: ChainPosition): string | undefined {
  const next = previous.revision + 1
  if (revision === next) return undefined
  return `event ${next} is missing: the one that follows has the revision ${revision}`
}

/** Why the event was not recorded like this: `computed` is the hash that its content gives. */
export function alteration(
  { revision, type, time }: ChainedEvent,
  recorded: string,
  computed: string,
): string | undefined {
  if (computed === recorded) return undefined
  return `event ${revision} (${type}, ${time}) was altered or moved: its content and the event before it give the hash ${computed}, its recorded hash is ${recorded}`
}

/** RFC 8785 for strings, integers and booleans: sorted members, no white space. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  let text = ''
  // A loop, because every key that is read or written passes here.
  for (const name of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, name)
    if (member === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`
  }
  return `{${text}}`
}
