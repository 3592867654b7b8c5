/** Project names need no escaping in URLs. `parseProjectName` also rules out UUIDs. */
export const projectNamePattern = /^[a-z0-9](?:[a-z0-9-]{0,126}[a-z0-9])?$/

/** A lower-case UUID (RFC 9562) of any version. */
export const uuidPattern = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'

/** The kid of the only entry of a key set that stands for none: no key of a project can have it. */
export const placeholderKid = 'no-active-key'
