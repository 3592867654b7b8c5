import { didYouMean } from '../../nearest.ts'
import { CommandError } from '../terminal/failures.ts'

/** How errors about one kind of item are worded. */
interface ItemKind<Item> {
  plural: string
  /** What the API calls its id. */
  idName: string
  nameOf(item: Item): string
  /** One line for each of several items that are meant. */
  describe(item: Item): string
  /** Opens the sentence about a missing item: `There is no API key`. */
  missing: string
  code: string
  listHint: string
}

/** The beginning of an id, long enough not to be given by chance. */
const shortId = /^[0-9a-f]{4}[0-9a-f-]{0,32}$/i

const maxCandidates = 10

/**
 * The item with the id, the only one with the name, or the only one whose id begins like that. Throws
 * if there is none, or several.
 */
export function pickOne<Item extends { id: string }>(
  items: readonly Item[],
  ref: string,
  { plural, idName, nameOf, describe, missing, code, listHint }: ItemKind<Item>,
): Item {
  const id = ref.toLowerCase()
  const named = items.filter((item) => item.id === id || nameOf(item) === ref)
  const isShort = named.length === 0 && shortId.test(ref)
  const matches = isShort ? items.filter((item) => item.id.startsWith(id)) : named
  const [first, ...others] = matches
  if (first === undefined) {
    const message = `${missing} “${ref}”${didYouMean(ref, items.map(nameOf))}`
    throw new CommandError('not_found', message, { code, hints: [listHint] })
  }
  if (others.length === 0) return first
  const message = isShort
    ? `The ids of ${matches.length} ${plural} begin with ${ref}: pass more of the ${idName}.`
    : `${matches.length} ${plural} are called “${ref}”: pass the ${idName} of one.`
  const hints = matches.slice(0, maxCandidates).map(describe)
  throw new CommandError('usage', message, { code: 'ambiguous_name', hints })
}
